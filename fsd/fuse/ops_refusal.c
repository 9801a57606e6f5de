/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies to the kernel with errors. An error without a sentence of its own
 * gets one here, by its number, with the path that the user named. All
 * functions run on the loop.
 */
#include "ops_refusal.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "fsd/mount/inotify.h"
#include "fsd/users/last_error.h"
#include "ops_guest.h"

/* Sentences for errors without their own. An errno that is not here is a normal
 * answer, no refusal: ENOENT, EEXIST, ENOTEMPTY, EINTR. */
static const struct {
	int code;
	const char *says;
} refusals[] = {
	{ EPERM, "it is fsd's own, and is not to be changed so" },
	{ EACCES, "it is not to be had by this user" },
	{ EINVAL, "what was asked for cannot be done here" },
	{ EBUSY, "it is in use" },
	{ EFBIG, "it would be too large" },
	{ ENOSPC, "the disk of the state directory is full" },
	{ EDQUOT, "a quota of the state directory's disk is used up" },
	{ EROFS, "the state directory cannot be written" },
	{ EIO, "the state directory cannot be read or written" },
	{ EMFILE, "fsd has as many files open as it may" },
	{ ENFILE, "this host has as many files open as it may" },
	{ ENOMEM, "fsd has no memory for it" },
	{ ESHUTDOWN, "no new job starts now" },
	{ ENAMETOOLONG, "the name, or its path, is too long" },
	{ EILSEQ, "the name is not UTF-8, or has control characters" },
	{ ENOSYS, "this file system does not do that" },
};

static const char *says(int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (refusals[i].code == code)
			return refusals[i].says;
	return NULL;
}

static bool is_helper(fuse_req_t req)
{
	return inotify_is_helper(ops_fsd(req), fuse_req_ctx(req)->pid);
}

int ops_refuse(fuse_req_t req, int code, const char *path, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/*
	 * Not for the helper: the user with its uid did not make this request.
	 */
	if (!is_helper(req))
		last_error_set(ops_fsd(req)->users, fuse_req_ctx(req)->uid, path,
			       text);
	return code;
}

/* --- paths -------------------------------------------------------------- */

/* A path as last_error shows it: the job, or another top name, and the path
 * below. */
struct where {
	const char *path;
	char rest[600];
};

static void add(struct where *w, const char *name)
{
	size_t len = strlen(w->rest);

	snprintf(w->rest + len, sizeof(w->rest) - len, "%s%s", len ? "/" : "",
		 file_name_check(name) < 0 ? "?" : name);
}

static void find_below(const struct target *t, struct where *w)
{
	char path[STORE_PATH_MAX];

	if (t->kind == T_VFILE || (t->kind == T_NODE &&
				   t->node->area != AREA_FILES))
		add(w, job_vfiles[t->kind == T_VFILE && t->vfile < JOB_VFILE_MAX
					? t->vfile
					: JOB_VFILE_OUTPUT].name);
	if (t->kind == T_NODE && node_rel_path(t->node, path, sizeof(path)) > 0)
		snprintf(w->rest + strlen(w->rest),
			 sizeof(w->rest) - strlen(w->rest), "%s%.500s",
			 *w->rest ? "/" : "", path);
}

static struct where find(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct where w = { .path = "?" };
	struct target t;

	if (guest_is(ino)) {
		w.path = FSD_DIR_NAME;
		if (guest_where(req, ino, w.rest, sizeof(w.rest)) && name)
			add(&w, name);
		return w;
	}
	if (ops_resolve(ops_fsd(req), ino, &t) < 0)
		return w;
	if (t.kind == T_ROOT) {
		w.path = !name ? "/" : job_name_check(name) < 0 ? "?" : name;
		return w;
	}
	if (t.kind == T_FSD && t.entry && t.entry < FSD_VFILE_MAX)
		add(&w, fsd_vfiles[t.entry].name);
	if (t.kind == T_FSD)
		w.path = FSD_DIR_NAME;
	else if (!t.job || ops_check_owner(req, t.job) < 0)
		return w; /* do not reveal another user's job */
	else
		w.path = t.job->meta.name;
	find_below(&t, &w);
	if (name)
		add(&w, name);
	return w;
}

int ops_refuse_at(fuse_req_t req, fuse_ino_t ino, const char *name, int code,
		  const char *sentence)
{
	struct where w = find(req, ino, name);

	return ops_refuse(req, code, w.path, "%s%s%s", w.rest,
			  *w.rest ? ": " : "", sentence);
}

int ops_check_file_name(fuse_req_t req, const char *dir, const char *name)
{
	int r = file_name_check(name);

	return r < 0 ? ops_refuse(req, r, dir,
				  "a file's name is 1 to 255 bytes")
		     : 0;
}

/* --- answers -------------------------------------------------------------------- */

void ops_done(fuse_req_t req)
{
	fuse_reply_err(req, 0);
}

void ops_answer(fuse_req_t req, int r)
{
	fuse_reply_err(req, -r);
}

/* Returns true if no further sentence is needed: the caller is the inotify helper, a
 * sentence is set, or root has got the sentence that was set for the job's owner. */
static bool is_told(fuse_req_t req, fuse_ino_t ino)
{
	struct fsd *d = ops_fsd(req);
	uid_t uid = fuse_req_ctx(req)->uid;
	struct target t;

	if (is_helper(req) || last_error_is_set(d->users, uid))
		return true;
	return !guest_is(ino) && ops_resolve(d, ino, &t) == 0 && t.job &&
	       ops_check_owner(req, t.job) == 0 &&
	       last_error_pass_on(d->users, uid, t.job->meta.uid);
}

void ops_fail(fuse_req_t req, fuse_ino_t ino, const char *name, int r)
{
	struct where w;

	if (says(-r) && !is_told(req, ino)) {
		w = find(req, ino, name);
		ops_refuse(req, r, w.path, "%s%s%s: %s", w.rest,
			   *w.rest ? ": " : "",
			   guest_is(ino) ? "the session's machine refuses it"
					  : says(-r), strerror(-r));
	}
	fuse_reply_err(req, -r);
}

/* --- a job that has started --------------------------------------------- */

int ops_refuse_frozen(fuse_req_t req, struct job *job, const char *name,
		      bool late)
{
	const char *own = job->meta.name;

	if (is_helper(req))
		return -EBUSY;
	ops_refuse(req, -EBUSY, own,
		   "%s%sthe job is %s: its inputs are frozen until it has "
		   "ended%s", name ? name : "", name ? ": " : "",
		   state_name(job->meta.state),
		   late ? "; write all of them to a name with a dot and rename "
			  "it (mv .draft next), or use fsd submit"
			: "");
	if (!late || job->late_run == job->meta.run)
		return -EBUSY;
	job->late_run = job->meta.run;
	job_log(job, "%s came too late, and its writer got EBUSY: the job had "
		"begun, since config.json and the program were complete; write "
		"to .%s and `mv .%s %s`, or use `fsd submit`", name, own, own,
		own);
	return -EBUSY;
}
