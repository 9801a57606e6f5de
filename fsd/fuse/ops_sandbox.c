/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, writes and removes entries of .fsd/sandboxes. Text written to
 * config.json is collected in the open file and applied at its close, so that a
 * reader, and the sandbox, have the old config or the new one. Other files
 * beside it are texts in memory; a rename makes one the config.
 *
 * Owns the text of an H_STAGED handle. All functions run on the loop.
 */
#include "ops_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "fsd/control/control.h"
#include "fsd/control/control_entry.h"
#include "fsd/control/control_sandbox.h"
#include "fsd/mount/requests.h"
#include "fsd/living/sandboxes.h"
#include "fsd/users/last_error.h"
#include "ops_refusal.h"
#include "fsd/jobs/lifecycle.h"

bool ops_sandbox_is(const struct target *t)
{
	return t->kind == T_FSD && ENTRY_VFILE(t->entry) == FSD_VFILE_SANDBOXES;
}

static struct sandbox *sandbox_of(struct fsd *d, const struct target *t)
{
	return control_sandbox(d, t->entry);
}

static bool is_own(const struct target *t, unsigned field)
{
	return ENTRY_LANG(t->entry) == OF_SANDBOX &&
	       ENTRY_FIELD(t->entry) == field;
}

static int refuse(fuse_req_t req, const struct sandbox *s, int r,
		  const struct err *err)
{
	return ops_refuse(req, r, sandbox_name(s), "%s", err->text);
}

/* --- names ----------------------------------------------------------------------- */

int ops_sandbox_mkdir(fuse_req_t req, const struct target *dir,
		      const char *name, struct target *ret)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);
	struct fsd *d = ops_fsd(req);
	struct sandbox *s = sandboxes_find(d, who->uid, name, false);
	struct err err = { 0 };
	uint64_t before;
	int r;

	if (ENTRY_SESSION(dir->entry))
		return ops_refuse(req, -EPERM, FSD_DIR_NAME,
				  "no directory can be made in a sandbox's; its "
				  "files are in files/");
	if (job_name_check(name) < 0 || job_name_is_draft(name))
		return ops_refuse(req, -EINVAL, FSD_DIR_NAME,
				  "a sandbox's name is 1 to %u bytes of valid "
				  "UTF-8 without control characters that do not "
				  "begin with \".\"", LIMIT_JOB_NAME);
	if (s && sandbox_uid(s) == who->uid && !requests_again(d, &before))
		return -EEXIST;
	/* the previous server has made it, and was killed before its reply */
	if (s && sandbox_uid(s) == who->uid) {
		*ret = (struct target){ .kind = T_FSD,
					.entry = control_sandbox_entry(s) };
		return 0;
	}
	if (lifecycle_is_draining(d->lifecycle))
		return ops_refuse(req, -ESHUTDOWN, FSD_DIR_NAME,
				  "fsd takes no new jobs and sandboxes now");
	requests_begin(d, 0);
	r = sandbox_make(d, name, who->uid, who->gid, &s, &err);
	if (r < 0)
		return ops_refuse(req, r, FSD_DIR_NAME, "%s", err.text);
	*ret = (struct target){ .kind = T_FSD,
				.entry = control_sandbox_entry(s) };
	return 0;
}

int ops_sandbox_rmdir(fuse_req_t req, const struct target *t)
{
	struct fsd *d = ops_fsd(req);
	struct sandbox *s = control_sandbox_at(d, t->entry);
	struct seat *session = control_sandbox_session(d, t->entry);

	if (s)
		sandbox_end(s);
	else if (session && !ENTRY_FIELD(t->entry))
		seat_end(session);
	else
		return control_is_dir(t->entry) ? -EPERM : -ENOTDIR;
	return 0;
}

int ops_sandbox_unlink(fuse_req_t req, const struct target *t)
{
	struct sandbox_file *f = control_sandbox_file(ops_fsd(req), t->entry);

	if (!f)
		return control_is_dir(t->entry) ? -EISDIR : -EPERM;
	sandbox_file_del(f);
	return 0;
}

static int rename_to_config(fuse_req_t req, struct sandbox_file *f,
			    unsigned flags)
{
	struct sandbox *s = f->sandbox;
	struct err err = { 0 };
	int r;

	if (flags & RENAME_NOREPLACE)
		return -EEXIST;
	r = sandbox_configure(s, f->text.data ? f->text.data : "", f->text.len,
			      &err);
	if (r < 0)
		return refuse(req, s, r == -ENODATA ? -EINVAL : r, &err);
	sandbox_file_del(f);
	return 0;
}

int ops_sandbox_rename(fuse_req_t req, const struct target *from,
		       const struct target *dir, const char *name,
		       unsigned flags)
{
	struct fsd *d = ops_fsd(req);
	struct sandbox_file *f = control_sandbox_file(d, from->entry), *old;
	uint64_t entry;
	char *copy;
	int r;

	if (!f || control_sandbox_at(d, dir->entry) != f->sandbox ||
	    (flags & ~(unsigned)RENAME_NOREPLACE))
		return ops_refuse(req, -EPERM, FSD_DIR_NAME,
				  "only a file beside a sandbox's config.json "
				  "can be renamed, and only there");
	r = control_sandbox_find(d, sandbox_uid(f->sandbox), dir->entry, name,
			      &entry);
	if (r == 0 && ENTRY_LANG(entry) == OF_SANDBOX)
		return ENTRY_FIELD(entry) == FIELD_CONFIG
			       ? rename_to_config(req, f, flags) : -EPERM;
	old = r == 0 ? control_sandbox_file(d, entry) : NULL;
	if (old == f)
		return 0;
	if (old && (flags & RENAME_NOREPLACE))
		return -EEXIST;
	r = ops_check_file_name(req, FSD_DIR_NAME, name);
	copy = r == 0 ? strdup(name) : NULL;
	if (!copy)
		return r < 0 ? r : -ENOMEM;
	if (old)
		sandbox_file_del(old);
	free(f->name);
	f->name = copy;
	return 0;
}

/* --- opening ------------------------------------------------------------------------ */

int ops_sandbox_create(fuse_req_t req, const struct target *dir,
		       const char *name, struct target *ret,
		       struct handle **ret_handle)
{
	struct fsd *d = ops_fsd(req);
	struct sandbox *s = control_sandbox_at(d, dir->entry);
	struct sandbox_file *f;
	struct err err = { 0 };
	int r;

	if (!s)
		return ops_refuse(req, -EPERM, FSD_DIR_NAME,
				  "no file can be made here; to make a sandbox: "
				  "mkdir .fsd/sandboxes/NAME");
	r = ops_check_file_name(req, FSD_DIR_NAME, name);
	if (r == 0) {
		r = sandbox_file_make(s, name, &f, &err);
		r = r < 0 ? refuse(req, s, r, &err) : 0;
	}
	if (r < 0)
		return r;
	*ret = (struct target){ .kind = T_FSD,
				.entry = control_sandbox_file_entry(f) };
	*ret_handle = ops_handle_new(d, H_STAGED, ret);
	return *ret_handle ? 0 : -ENOMEM;
}

int ops_sandbox_open(fuse_req_t req, const struct target *t,
		     const struct fuse_file_info *fi, struct handle **ret)
{
	struct fsd *d = ops_fsd(req);
	struct sandbox_file *f = control_sandbox_file(d, t->entry);

	if (is_own(t, FIELD_HOLD)) { /* writing to it has no effect */
		*ret = ops_handle_new(d, H_SINK, t);
		return *ret ? 0 : -ENOMEM;
	}
	if (!f && !is_own(t, FIELD_CONFIG) && !is_own(t, FIELD_UNTIL) &&
	    !is_own(t, FIELD_CTL))
		return ops_refuse_at(req, ops_ino(t), NULL, -EPERM,
				     "this file of a sandbox only tells "
				     "something and cannot be written");
	*ret = ops_handle_new(d, H_STAGED, t);
	if (!*ret)
		return -ENOMEM;
	(*ret)->kept->opener = fuse_req_ctx(req)->pid;
	(*ret)->text.cap = LIMIT_CONFIG_BYTES + 1;
	(*ret)->cut = fi->flags & O_TRUNC;
	if (f && (*ret)->cut)
		buf_clear(&f->text);
	return f || (*ret)->cut ? 0
				: control_sandbox_text(d, t->entry, &(*ret)->text);
}

int ops_sandbox_text(struct handle *h)
{
	struct sandbox *s = sandbox_of(h->d, &h->t);
	struct buf text = { 0 };
	int r;

	if (!s)
		return -ESTALE;
	if (is_own(&h->t, FIELD_STATE))
		h->kept->seen = (int)sandbox_state_no(s);
	r = is_own(&h->t, FIELD_PROCESSES)
		    ? sandbox_show_processes(s, &text)
		    : control_sandbox_text(h->d, h->t.entry, &text);
	buf_done(&h->text); /* another reader may have set it meanwhile */
	h->text = text;
	return r;
}

static void on_told(struct list *node)
{
	struct blocked_poll *p = list_entry(node, struct blocked_poll, node);

	if (p->ph)
		fuse_lowlevel_notify_poll(p->ph);
	blocked_poll_drop(p);
}

unsigned ops_sandbox_poll(struct handle *h, struct fuse_pollhandle *ph)
{
	struct sandbox *s = sandbox_of(h->d, &h->t);

	if (!s || !is_own(&h->t, FIELD_STATE)) {
		if (ph)
			fuse_pollhandle_destroy(ph);
		return s ? POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM
			 : POLLERR | POLLHUP;
	}
	if (ph) {
		blocked_poll_drop(&h->poll);
		h->poll.ph = ph;
		sandbox_watch(s, &h->poll.node, on_told);
	}
	return h->kept->seen == (int)sandbox_state_no(s)
		       ? 0 : POLLIN | POLLRDNORM | POLLPRI;
}

/* --- writing -------------------------------------------------------------- */

/* Counts a text that will have `size` bytes for its user: of a file (f), or of
 * an open file (h). Return: 0 or negative errno, after setting last_error. */
static int weigh(fuse_req_t req, struct handle *h, struct sandbox_file *f,
		 uint64_t size)
{
	uid_t uid = f ? sandbox_uid(f->sandbox) : fuse_req_ctx(req)->uid;
	struct user_weight *w = f ? &f->weight : h ? &h->weight : NULL;
	struct err err = { 0 };
	int r = w ? user_weigh(ops_fsd(req)->users, uid, w, size, &err) : 0;

	return r < 0 ? ops_refuse(req, r, FSD_DIR_NAME, "%s", err.text) : 0;
}

/* Returns the text to read or write; NULL: its file is gone. */
static struct buf *text_of(struct handle *h)
{
	struct sandbox_file *f = control_sandbox_file(h->d, h->t.entry);

	if (ENTRY_LANG(h->t.entry) == OF_FILE)
		return f ? &f->text : NULL;
	return sandbox_of(h->d, &h->t) ? &h->text : NULL;
}

void ops_staged_read(fuse_req_t req, struct handle *h, size_t size, off_t off)
{
	const struct buf *text = text_of(h);

	if (!text)
		ops_answer(req, -ESTALE);
	else if ((uint64_t)off >= text->len)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, text->data + off,
			       MIN(size, text->len - (size_t)off));
}

static int set_size(struct buf *text, uint64_t size)
{
	static const char zeros[4096];

	while (text->len < size)
		if (buf_add(text, zeros, (size_t)MIN(size - text->len,
						     sizeof(zeros))) < 0)
			return -ENOMEM;
	text->len = (size_t)size;
	return 0;
}

static int put(struct buf *text, const char *data, size_t size, uint64_t off)
{
	int r = 0;

	if (text->len < off + size)
		r = set_size(text, off + size);
	if (r == 0 && size)
		memcpy(text->data + off, data, size);
	return r;
}

static int take_config(fuse_req_t req, struct handle *h, bool check_only)
{
	struct sandbox *s = sandbox_of(h->d, &h->t);
	const char *text = h->text.data ? h->text.data : "";
	struct err err = { 0 };
	int r = check_only ? sandbox_check_config(s, text, h->text.len, &err)
			   : sandbox_configure(s, text, h->text.len, &err);

	if (r == -ENODATA && check_only)
		return 0; /* the writer may write more later */
	if (r == -ENODATA) {
		refuse(req, s, -EINVAL, &err);
		return r;
	}
	return r < 0 ? refuse(req, s, r, &err) : 0;
}

/* Handles bytes that were written into the text. */
static int taken(fuse_req_t req, struct handle *h, const char *data,
		 size_t size, bool in_order)
{
	struct sandbox *s = sandbox_of(h->d, &h->t);
	struct err err = { 0 };
	int r = 0;

	h->kept->changed = true;
	if (is_own(&h->t, FIELD_CONFIG))
		return in_order ? take_config(req, h, true) : 0;
	if (is_own(&h->t, FIELD_UNTIL))
		r = sandbox_set_until(s, data, size, &err);
	else if (is_own(&h->t, FIELD_CTL))
		r = sandbox_control(s, data, size, &err);
	s = sandbox_of(h->d, &h->t); /* the sandbox may have ended while ctl waited */
	return r < 0 && s ? refuse(req, s, r, &err) : r;
}

void ops_staged_write(fuse_req_t req, struct handle *h, const char *data,
		      size_t size, off_t off)
{
	struct buf *text = text_of(h);
	uint64_t at;
	bool in_order;
	int r;

	if (!text) {
		ops_answer(req, -ESTALE);
		return;
	}
	if (is_own(&h->t, FIELD_CTL) ||
	    (!h->kept->changed && is_own(&h->t, FIELD_UNTIL)))
		buf_clear(text); /* each write replaces the whole text */
	at = h->kept->flags & O_APPEND ? text->len : (uint64_t)off;
	in_order = at == text->len;
	r = at > LIMIT_CONFIG_BYTES || size > LIMIT_CONFIG_BYTES - at
		    ? -EFBIG
		    : weigh(req, h, control_sandbox_file(h->d, h->t.entry),
			    MAX(text->len, at + size));
	if (r == 0)
		r = put(text, data, size, at);
	if (r == -EFBIG)
		r = ops_refuse(req, r, FSD_DIR_NAME,
			       "a sandbox's file has at most 1 MiB");
	if (r == 0)
		r = taken(req, h, data, size, in_order);
	if (r < 0)
		ops_answer(req, r);
	else
		fuse_reply_write(req, size);
}

/* Returns whether this close is probably the last one: the process that opened the
 * file makes it. Another process closes a duplicate, which bash does before a
 * command's output is complete. */
static bool is_last_close(fuse_req_t req, const struct handle *h)
{
	pid_t pid = fuse_req_ctx(req)->pid;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid,
		 (int)h->kept->opener);
	return pid == h->kept->opener || access(path, F_OK) == 0;
}

int ops_staged_flush(fuse_req_t req, struct handle *h)
{
	int r;

	if (!h->kept->changed || !is_own(&h->t, FIELD_CONFIG))
		return 0;
	if (!sandbox_of(h->d, &h->t))
		return -ESTALE;
	r = take_config(req, h, false);
	if (r == -ENODATA)
		return is_last_close(req, h) ? -EINVAL : 0;
	h->kept->changed = r < 0;
	return r;
}

void ops_staged_release(struct handle *h)
{
	struct sandbox *s = sandbox_of(h->d, &h->t);
	struct err err = { 0 };
	int r = 0;

	if (!s)
		return;
	if (is_own(&h->t, FIELD_CONFIG) && (h->kept->changed || h->cut))
		r = sandbox_configure(s, h->text.data ? h->text.data : "",
				      h->text.len, &err);
	else if (is_own(&h->t, FIELD_UNTIL) && h->cut && !h->kept->changed)
		r = sandbox_set_until(s, "", 0, &err);
	if (r < 0) /* close(2) may have returned 0: the flush of a file that was
		    * only truncated does not check it */
		last_error_set(h->d->users, sandbox_uid(s), sandbox_name(s),
			       err.text);
}

int ops_sandbox_setattr(fuse_req_t req, const struct target *t,
			const struct stat *attr, int to_set,
			struct fuse_file_info *fi)
{
	struct sandbox_file *f = control_sandbox_file(ops_fsd(req), t->entry);
	struct handle *h = fi ? ops_handle(req, fi) : NULL;
	struct buf *text = h && h->kind == H_STAGED ? text_of(h)
						    : f ? &f->text : NULL;
	const struct sandbox *s = sandbox_of(ops_fsd(req), t);
	int r;

	if (!s || control_is_dir(t->entry))
		return s ? -EPERM : -ESTALE;
	if ((to_set & FUSE_SET_ATTR_UID) && attr->st_uid != sandbox_uid(s))
		return -EPERM;
	if (!(to_set & FUSE_SET_ATTR_SIZE))
		return 0; /* setting modes and times has no effect */
	if (!text)
		return attr->st_size ? -EINVAL : 0;
	if (h && h->kind == H_STAGED)
		h->kept->changed = true;
	if ((uint64_t)attr->st_size > LIMIT_CONFIG_BYTES)
		return -EFBIG;
	r = weigh(req, h && h->kind == H_STAGED ? h : NULL, f,
		  (uint64_t)attr->st_size);
	return r < 0 ? r : set_size(text, (uint64_t)attr->st_size);
}
