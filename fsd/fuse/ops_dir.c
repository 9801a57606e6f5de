/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkdir, mknod, unlink and rmdir. All functions run on the loop, in a fiber that
 * holds the job's lock.
 */
#include "ops.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fsd/submit/draft.h"
#include "fsd/control/control.h"
#include "fsd/control/control_ports.h"
#include "fsd/mount/inotify.h"
#include "fsd/mount/requests.h"
#include "fsd/jobs/removed_files.h"
#include "fsd/run/run.h"
#include "fsd/living/sandboxes.h"
#include "ops_refusal.h"
#include "ops_guest.h"
#include "ops_sandbox.h"

static const char *dir_name(const struct target *dir)
{
	return dir->job ? dir->job->meta.name : FSD_DIR_NAME;
}

static bool is_output(const struct target *dir)
{
	const struct node *node = ops_dir_node(dir);

	return node ? node->area == AREA_OUTPUT
		    : dir->kind == T_VFILE && dir->vfile == JOB_VFILE_OUTPUT;
}

static int check_writable(fuse_req_t req, const struct target *dir,
			  const char *name, bool while_frozen)
{
	const struct node *node = ops_dir_node(dir);
	int r;

	if (dir->kind == T_FSD)
		return ops_refuse(req, -EPERM, FSD_DIR_NAME,
				  "this directory belongs to fsd");
	if (!dir->job || (!node && !is_output(dir)))
		return -ENOENT;
	r = ops_check_file_name(req, dir_name(dir), name);
	if (r < 0)
		return r;
	if (is_output(dir))
		return ops_refuse(req, -EPERM, dir_name(dir),
				  "output/ is the program's: nothing can be "
				  "added or changed");
	if (job_is_frozen(dir->job) && !while_frozen)
		return ops_refuse_frozen(req, dir->job, name,
					 !node || !node_find(ops_dir_node(dir),
							     name));
	if (node && node->depth >= LIMIT_DEPTH)
		return ops_refuse(req, -ENAMETOOLONG, dir_name(dir),
				  "a path in a job has at most %u names, and "
				  "this one would have more", LIMIT_DEPTH);
	return 0;
}

int ops_check_writable(fuse_req_t req, const struct target *dir,
		       const char *name)
{
	return check_writable(req, dir, name, false);
}

int ops_check_file(fuse_req_t req, const struct target *dir, const char *name)
{
	return check_writable(req, dir, name, file_is_swap(name));
}

/* --- making --------------------------------------------------------------------- */

int ops_refuse_job_name(fuse_req_t req, const char *name, int r)
{
	char shown[64];

	snprintf(shown, sizeof(shown), "%.40s", r == -EILSEQ ? "?" : name);
	if (r == -EPERM)
		return ops_refuse(req, r, shown, "this name is fsd's own");
	return ops_refuse(req, r, shown,
			  "a job's name is 1 to 200 bytes of valid UTF-8 "
			  "without control characters");
}

/* Returns whether the previous server had begun this request. Then what is made
 * or removed already may be this request's own work, and is no error. */
static bool done_before(const struct fsd *d)
{
	uint64_t unused;

	return requests_again(d, &unused);
}

/*
 * Checks a new job's name. A job of another user does not exist for the caller,
 * but its name is taken. The error for that has other possible causes as well,
 * so it reveals nothing.
 */
int ops_check_free(fuse_req_t req, const char *name)
{
	const struct job *old = job_by_name(ops_fsd(req), name);

	if (!old)
		return 0;
	if (ops_check_owner(req, old) == 0)
		return -EEXIST;
	return ops_refuse(req, -EACCES, name,
			  "this name is not to be had here; choose another");
}

static int make_job(fuse_req_t req, const char *name, mode_t mode,
		    struct target *t)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);
	struct fsd *d = ops_fsd(req);
	struct name_claim claim;
	struct err err = { 0 };
	int r = job_name_check(name), made = 0;

	if (r < 0)
		return ops_refuse_job_name(req, name, r);
	t->kind = T_JOB;
	t->job = done_before(d) ? job_by_name(d, name) : NULL;
	if (t->job && t->job->meta.uid == who->uid)
		return 0;
	r = quota_check_job(users_quota(d->users), who->uid, &err);
	if (r < 0)
		return ops_refuse(req, r, name, "%s", err.text);
	name_claim(d, &claim, name);
	r = ops_check_free(req, name);
	if (r == 0) {
		requests_begin(d, 0);
		made = job_make(d, name, mode | 0700, who->uid, who->gid,
				&t->job);
	}
	name_release(&claim);
	if (r < 0)
		return r;
	if (made < 0)
		return ops_refuse(req, made, name,
				  "the job cannot be made in %s: %s",
				  store_dir(d->store), strerror(-made));
	return 0;
}

/* mkdir of a virtual name. A user who copies a whole job may make output/ in a draft, and
 * fsd ignores what is copied there (the sink). The inotify helper's own mkdir succeeds.
 * All others are refused. */
static int make_vfile_dir(fuse_req_t req, struct job *job, unsigned vfile,
			  struct target *t)
{
	*t = (struct target){ .kind = T_VFILE, .job = job, .vfile = vfile };
	if (inotify_take_made(job, vfile, fuse_req_ctx(req)->pid))
		return 0;
	if (job_has_vfile(job, vfile))
		return job->results.sink && vfile == JOB_VFILE_OUTPUT && done_before(job->d)
			       ? 0
			       : -EEXIST;
	if (vfile != JOB_VFILE_OUTPUT || !job_takes_copies(job))
		return ops_refuse(req, -EPERM, job->meta.name,
				  "%s is a virtual file and cannot be made by "
				  "hand",
				  job_vfiles[vfile].name);
	requests_begin(job->d, 0);
	return job_sink_make(job);
}

static int make_dir(fuse_req_t req, fuse_ino_t parent, const char *name,
		    mode_t mode, struct target *t)
{
	struct target dir;
	unsigned vfile = 0;
	int r = ops_target(req, parent, &dir);

	if (r < 0)
		return r;
	if (dir.kind == T_ROOT)
		return make_job(req, name, mode, t);
	if (ops_sandbox_is(&dir))
		return ops_sandbox_mkdir(req, &dir, name, t);
	if (dir.kind == T_JOB)
		vfile = job_vfile_by_name(name);
	if (vfile)
		return make_vfile_dir(req, dir.job, vfile, t);
	r = ops_check_writable(req, &dir, name);
	if (r < 0)
		return r;
	t->kind = T_NODE;
	t->job = dir.job;
	t->node = node_find(ops_dir_node(&dir), name);
	if (t->node)
		return t->node->is_dir && done_before(dir.job->d) ? 0 : -EEXIST;
	requests_begin(dir.job->d, 0);
	return node_make_dir(ops_dir_node(&dir), name, mode, &t->node);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct fuse_entry_param e;
	struct target t = { 0 };
	int r;

	if (guest_mkdir(req, parent, name, mode))
		return;
	ops_hold(req, parent, NULL);
	r = make_dir(req, parent, name, mode, &t);
	if (r == 0 && t.kind == T_NODE)
		ops_touched(t.job);
	if (r == 0 && t.kind == T_JOB)
		draft_changed(t.job);
	if (r == 0)
		r = ops_entry(req, &t, &e);
	if (r < 0)
		ops_fail(req, parent, name, r);
	else
		fuse_reply_entry(req, &e);
}

/* Returns true if the inotify helper makes a virtual file: it exists already, and the
 * request only makes the kernel report CREATE to watchers. */
static bool is_told(fuse_req_t req, fuse_ino_t parent, const char *name,
		    struct fuse_entry_param *ret)
{
	struct target t;

	if (ops_target(req, parent, &t) < 0 || t.kind != T_JOB)
		return false;
	t.kind = T_VFILE;
	t.vfile = job_vfile_by_name(name);
	return t.vfile &&
	       inotify_take_made(t.job, t.vfile, fuse_req_ctx(req)->pid) &&
	       ops_entry(req, &t, ret) == 0;
}

/* Returns true if a process of fsd binds the socket of a port there. */
static bool is_port(fuse_req_t req, fuse_ino_t parent, const char *name,
		    struct fuse_entry_param *ret)
{
	struct target t;

	return ops_target(req, parent, &t) == 0 && t.kind == T_FSD &&
	       control_ports_make(ops_fsd(req), fuse_req_ctx(req)->uid, t.entry, name,
				  &t.entry) == 0 &&
	       ops_entry(req, &t, ret) == 0;
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	      dev_t rdev)
{
	struct fuse_entry_param e;

	if (S_ISSOCK(mode) ? is_port(req, parent, name, &e)
			   : is_told(req, parent, name, &e)) {
		fuse_reply_entry(req, &e);
		return;
	}
	(void)rdev;
	ops_answer(req, ops_refuse_at(req, parent, name, -EPERM,
				      "only files and directories can be made "
				      "here"));
}

/* --- removing --------------------------------------------------------------------- */

/* Removes a virtual file. They come and go with the job, so rm -r must succeed.
 * A result that a user removes stays hidden until the next run. */
static int unlink_vfile(struct job *job, unsigned vfile)
{
	if (job_vfiles[vfile].result && job->results.has) {
		job_vfile_hide(job, vfile);
		inotify_removed(job, vfile);
	}
	return 0;
}

int ops_unlink_node(struct target *t)
{
	struct job *job = t->job;
	bool input = t->node->area == AREA_FILES;
	int r;

	r = input && job && run_needs_input(job, t->node)
		    ? removed_files_take(job, t->node)
		    : node_unlink(t->node);
	if (r == 0 && input)
		ops_changed(job, NULL);
	return r;
}

static int do_unlink(fuse_req_t req, struct target *t)
{
	requests_begin(ops_fsd(req), 0);
	if (t->kind == T_VFILE &&
	    inotify_take_gone(t->job, t->vfile, fuse_req_ctx(req)->pid))
		return 0; /* the inotify helper: the file is already gone, and its unlink
			   * only makes the kernel report DELETE */
	if (t->kind == T_VFILE)
		return job_vfiles[t->vfile].kind == VFILE_DIR
			       ? -EISDIR
			       : unlink_vfile(t->job, t->vfile);
	if (t->kind == T_NODE)
		return t->node->is_dir ? -EISDIR : ops_unlink_node(t);
	if (ops_sandbox_is(t))
		return ops_sandbox_unlink(req, t);
	return t->kind == T_JOB ? -EISDIR : -EPERM;
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct target t = { 0 };
	int r;

	if (guest_unlink(req, parent, name))
		return;
	ops_hold(req, parent, name);
	r = ops_find(req, parent, name, &t);
	if (r == 0)
		r = do_unlink(req, &t);
	else if (r == -ENOENT && (t.vfile || done_before(ops_fsd(req))))
		r = 0; /* a result may disappear after its lookup */
	if (r < 0)
		ops_fail(req, parent, name, r);
	else
		ops_reply_changed(req, t.job, r, NULL);
}

static int rmdir_output(struct job *job)
{
	if (job->results.sink) {
		if (node_has_entries(job->results.sink))
			return -ENOTEMPTY;
		job_sink_drop(job);
		return 0;
	}
	if (job_output(job) && node_has_entries(job->results.output))
		return -ENOTEMPTY;
	return unlink_vfile(job, JOB_VFILE_OUTPUT);
}

static int rmdir_job(fuse_req_t req, struct job *job)
{
	int r = node_has_entries(job->files) ? -ENOTEMPTY : job_remove(job);

	if (r < 0 && r != -ENOTEMPTY)
		return ops_refuse(req, r, job->meta.name,
				  "the job cannot be removed from %s: %s",
				  store_dir(job->d->store), strerror(-r));
	return r;
}

static int do_rmdir(fuse_req_t req, struct target *t)
{
	struct sandbox *session =
		t->kind == T_FSD ? control_session(ops_fsd(req), t->entry) : NULL;

	requests_begin(ops_fsd(req), 0);
	if (session) {
		sandbox_end(session);
		return 0;
	}
	if (ops_sandbox_is(t))
		return ops_sandbox_rmdir(req, t);
	if (t->kind == T_JOB && inotify_is_helper(ops_fsd(req),
						  fuse_req_ctx(req)->pid))
		return retain_take(take_ptr(t->job));
	if (t->kind == T_JOB)
		return rmdir_job(req, take_ptr(t->job));
	if (t->kind == T_VFILE)
		return t->vfile == JOB_VFILE_OUTPUT ? rmdir_output(t->job)
						: -ENOTDIR;
	if (t->kind == T_NODE)
		return t->node->is_dir ? ops_unlink_node(t) : -ENOTDIR;
	return -EPERM;
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct target t = { 0 };
	int r;

	if (guest_rmdir(req, parent, name))
		return;
	ops_hold(req, parent, name);
	r = ops_find(req, parent, name, &t);
	if (r == 0)
		r = do_rmdir(req, &t);
	else if (r == -ENOENT && done_before(ops_fsd(req)))
		r = 0;
	if (r < 0)
		ops_fail(req, parent, name, r);
	else
		ops_reply_changed(req, t.job, r, NULL);
}
