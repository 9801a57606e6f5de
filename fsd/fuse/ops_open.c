/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open and create: stored files, virtual files, copies without effect. All
 * functions run on the loop, in a fiber that may wait for the disk.
 */
#include "ops_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fsd/store/store.h"
#include "fsd/jobs/event_log.h"
#include "fsd/control/control.h"
#include "fsd/jobs/held.h"
#include "fsd/mount/inotify.h"
#include "handle_table.h"
#include "fsd/users/users.h"
#include "fsd/mount/requests.h"
#include "fsd/submit/draft.h"
#include "fsd/submit/restart.h"
#include "fsd/run/run.h"
#include "ops_refusal.h"
#include "ops_guest.h"
#include "ops_sandbox.h"
#include "fsd/living/sandboxes.h"
#include "fsd/jobs/unsynced_inputs.h"

static bool wants_write(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY;
}

/*
 * Bypasses the page cache for a file that is only written: then the kernel
 * caches no pages, and does not ask for security.capability before each first
 * write.
 */
static void set_direct(struct fuse_file_info *fi)
{
	fi->direct_io = (fi->flags & O_ACCMODE) == O_WRONLY;
}

/* --- opening ------------------------------------------------------------------ */

/* Counts the open file for its user. Call it before taking a descriptor, because that may
 * wait. */
static int pay(fuse_req_t req, const struct target *t, struct user **ret)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);
	struct fsd *d = ops_fsd(req);
	struct err err = { 0 };
	int r;

	if (inotify_is_helper(d, who->pid))
		return 0;
	r = user_may_open(d->users, who->uid, &err);
	if (r < 0)
		return ops_refuse(req, r,
				  t->job ? t->job->meta.name : t->node->name,
				  "%s", err.text);
	*ret = user_opens(d->users, who->uid);
	return 0;
}

static int open_node(fuse_req_t req, const struct target *t,
		     struct fuse_file_info *fi, struct handle **ret)
{
	bool write = wants_write(fi) || (fi->flags & O_TRUNC);
	int r, flags = fi->flags & (O_ACCMODE | O_APPEND | O_TRUNC);

	if (t->node->is_dir)
		return -EISDIR;
	if (write && t->node->area == AREA_OUTPUT)
		return ops_refuse_at(req, ops_ino(t), NULL, -EPERM,
				     "results cannot be changed");
	if (write && store_read_only(ops_fsd(req)->store))
		return ops_refuse_at(req, ops_ino(t), NULL, -EROFS,
				     store_read_only(ops_fsd(req)->store));
	if (write && t->job && ops_is_frozen(t->job, t->node->name))
		return ops_refuse_frozen(req, t->job, t->node->name, false);
	*ret = ops_handle_new(ops_fsd(req), H_FILE, t);
	if (!*ret)
		return -ENOMEM;
	r = pay(req, t, &(*ret)->payer);
	if (r < 0)
		return r;
	if (flags & O_TRUNC)
		quota_examine(t->node);
	(*ret)->fd = node_open(t->node, flags);
	if ((*ret)->fd < 0)
		return (*ret)->fd;
	set_direct(fi);
	(*ret)->kept->writer = write;
	(*ret)->kept->opener = fuse_req_ctx(req)->pid;
	(*ret)->kept->changed = !!(fi->flags & O_TRUNC);
	if ((*ret)->kept->changed) {
		unsynced_cut(t->node);
		node_changed(t->node);
		quota_settle(t->node);
	}
	if (write)
		node_writer_begin(t->node);
	return 0;
}

int ops_vfile_text(struct handle *h)
{
	struct job *job = h->t.job;

	buf_clear(&h->text);
	switch (h->t.vfile) {
	case JOB_VFILE_STATE:
		return buf_fmt(&h->text, "%s\n", state_name(job->meta.state));
	case JOB_VFILE_ERROR:
		return buf_str(&h->text, job_error(job));
	case JOB_VFILE_EXIT_CODE:
		return buf_fmt(&h->text, "%u\n", job->meta.exit_code);
	default:
		return 0;
	}
}

/* Completes an open virtual file. renamed: it has a name in STATE/unlinked. */
static void enlist_vfile(struct handle *h, int fd, bool renamed, bool counts)
{
	h->kind = H_FILE;
	h->fd = fd;
	if (counts)
		quota_opened(&h->t.job->file_owner, &h->open, h->t.vfile, fd);
	h->vfile.fh = open_files_fh(h->d->open_files, h->kept);
	h->vfile.ino = &h->kept->ino;
	h->vfile.vfile = h->t.vfile;
	h->vfile.run = h->t.job->meta.run;
	h->vfile.renamed = renamed;
	list_add_tail(&h->t.job->rows, &h->vfile.node);
}

static int open_fd(struct handle *h, int fd)
{
	enlist_vfile(h, fd, false, h->t.vfile != JOB_VFILE_LOG);
	/* an empty stream may have no file */
	return fd == -ENOENT && job_vfiles[h->t.vfile].kind == VFILE_STREAM
		       ? 0
		       : MIN(fd, 0);
}

/* Lists the handle of a result that was removed while it was open, and has a name in
 * STATE/unlinked. After the job's removal its bytes count for the user's quota by this
 * handle. */
static void open_gone(struct handle *h, int fd)
{
	enlist_vfile(h, fd, fd >= 0, h->t.job->removed);
}

static bool takes_descriptor(unsigned vfile)
{
	return job_vfiles[vfile].kind == VFILE_STREAM || vfile == JOB_VFILE_RESULT;
}

/* Opens a virtual file for reading, by the kind of its row. */
static int open_vfile_read(struct handle *h, struct fuse_file_info *fi)
{
	struct job *job = h->t.job;
	const struct job_meta *m = &job->meta;

	restart_examine(job);
	fi->direct_io = 1; /* the file's size may change at any time */
	if (h->t.vfile == JOB_VFILE_LOG)
		return open_fd(h, job_log_open(job));
	switch (job_vfiles[h->t.vfile].kind) {
	case VFILE_STREAM:
		/*
		 * Without direct_io mmap works. But while the inotify helper
		 * truncates the stream, the kernel ignores sizes from the
		 * server, and would read up to an older size.
		 */
		fi->direct_io = m->state != JOB_DONE ||
				inotify_grows(job, h->t.vfile);
		h->kept->run = job->run ? m->run : 0;
		return open_fd(h, run_open(job, h->t.vfile == JOB_VFILE_STDOUT
							? VM_OUT
							: VM_ERR));
	case VFILE_FILE:
		fi->direct_io = 0;
		if (h->t.vfile == JOB_VFILE_EXIT_CODE)
			return ops_vfile_text(h);
		return open_fd(h, store_run_open(job->d->store, m->no, m->run,
						 "result.json"));
	case VFILE_FOLLOW:
	case VFILE_WAIT:
		h->kind = H_WAIT;
		h->kept->run = job->run ? m->run : 0;
		/* Seekable, because head and tail -c fail if they cannot seek
		 * in a regular file. */
		if (h->t.vfile != JOB_VFILE_EVENTS)
			return 0;
		h->events = events_reader_new(job);
		return h->events ? 0 : -ENOMEM;
	case VFILE_FEED:
		h->kind = H_FEED;
		return 0;
	case VFILE_DIR:
		return -EISDIR;
	default:
		return ops_vfile_text(h);
	}
}

/* Opens stdin.feed for writing. */
static int open_feed(fuse_req_t req, const struct target *t,
		     struct fuse_file_info *fi, struct handle **ret)
{
	int r = run_feed_open(t->job);

	if (r < 0)
		return ops_refuse(req, r, t->job->meta.name,
				  "stdin.feed takes input while the program runs, "
				  "if its config.json has \"stdin_open\": true; "
				  "the job is %s",
				  state_name(t->job->meta.state));
	fi->direct_io = fi->nonseekable = 1;
	*ret = ops_handle_new(ops_fsd(req), H_FEED, t);
	return *ret ? 0 : -ENOMEM;
}

static int open_vfile(fuse_req_t req, const struct target *t,
		      struct fuse_file_info *fi, struct handle **ret)
{
	bool ctl = t->vfile == JOB_VFILE_CTL;
	bool helper = inotify_is_at(t->job, fuse_req_ctx(req)->pid);
	/* writing to `hold` is permitted without effect */
	bool hold = held_by(t->job, t->vfile);
	bool write = wants_write(fi) && !hold;
	int r = 0;

	if (!helper && !job_has_vfile(t->job, t->vfile))
		return -ENOENT;
	if (write && job_vfiles[t->vfile].kind == VFILE_FEED)
		return open_feed(req, t, fi, ret);
	if (write && !ctl && !helper && !job_takes_copies(t->job))
		return ops_refuse(req, -EPERM, t->job->meta.name,
				  "%s is a virtual file and cannot be written",
				  job_vfiles[t->vfile].name);
	*ret = ops_handle_new(ops_fsd(req), ctl ? H_CTL : write ? H_SINK : H_TEXT, t);
	if (!*ret)
		return -ENOMEM;
	fi->direct_io = 1;
	if ((*ret)->kind != H_TEXT)
		return 0;
	if (takes_descriptor(t->vfile))
		r = pay(req, t, &(*ret)->payer);
	if (r == 0)
		r = open_vfile_read(*ret, fi);
	if ((*ret)->fd < 0)
		user_closes(take_ptr((*ret)->payer));
	return r;
}

static int open_control(fuse_req_t req, const struct target *t,
			struct fuse_file_info *fi, struct handle **ret)
{
	uid_t uid = fuse_req_ctx(req)->uid;
	bool ctl = t->entry == FSD_VFILE_CTL;

	if (control_is_dir(t->entry))
		return -EISDIR;
	fi->direct_io = 1;
	if (ops_sandbox_is(t) && (wants_write(fi) || (fi->flags & O_TRUNC)))
		return ops_sandbox_open(req, t, fi, ret);
	if (wants_write(fi) && !ctl)
		return ops_refuse_at(req, ops_ino(t), NULL, -EPERM,
				     "what is in .fsd only tells something and "
				     "cannot be written");
	if (wants_write(fi) && uid != 0 && uid != geteuid())
		return ops_refuse(req, -EACCES, FSD_DIR_NAME,
				  "ctl is for the user who runs fsd");
	*ret = ops_handle_new(ops_fsd(req), ctl ? H_CTL : H_TEXT, t);
	if (!*ret)
		return -ENOMEM;
	if (ops_sandbox_is(t))
		return ops_sandbox_text(*ret);
	return control_text(ops_fsd(req), t->entry, uid, &(*ret)->text);
}

static int do_open(fuse_req_t req, const struct target *t,
		   struct fuse_file_info *fi, struct handle **ret)
{
	switch (t->kind) {
	case T_NODE:
		return open_node(req, t, fi, ret);
	case T_VFILE:
		return open_vfile(req, t, fi, ret);
	case T_FSD:
		return open_control(req, t, fi, ret);
	case T_SINK:
		*ret = ops_handle_new(ops_fsd(req), H_SINK, t);
		return *ret ? 0 : -ENOMEM;
	default:
		return -EISDIR;
	}
}

/* Publishes the record: from now on the next server has this open file, too. */
static void publish(fuse_req_t req, struct handle *h, struct fuse_file_info *fi)
{
	struct handle_record *k = h->kept;

	k->flags = (uint32_t)fi->flags & (O_ACCMODE | O_APPEND);
	k->what = h->kind;
	if (h->kind == H_FILE && h->t.kind == T_VFILE)
		k->end = h->t.job->meta.run;
	k->uid = fuse_req_ctx(req)->uid;
	k->how = (uint8_t)((fi->direct_io ? OPEN_DIRECT : 0) |
			   (fi->noflush ? OPEN_NOFLUSH : 0));
	fi->fh = open_files_fh(h->d->open_files, k);
	if (k->writer && h->t.job)
		draft_changed(h->t.job);
	/* Call it before the handle is live: a server that dies in between would leave an
	 * open file without a user. */
	requests_begin(h->d, fi->fh);
	handover_publish(&k->live);
}

/* Returns the file that the previous server has opened for this request, and
 * was killed before it replied. */
static struct handle *opened_before(fuse_req_t req, struct fuse_file_info *fi)
{
	struct fsd *d = ops_fsd(req);
	struct handle *h = NULL;

	if (requests_again(d, &fi->fh))
		h = open_files_at(d->open_files, fi->fh, OPEN_FILE);
	if (!h)
		return NULL;
	fi->direct_io = !!(h->kept->how & OPEN_DIRECT);
	fi->noflush = !!(h->kept->how & OPEN_NOFLUSH);
	return h;
}

bool ops_vfile_is_gone(const struct handle_record *kept, const struct target *t)
{
	return t->kind == T_VFILE &&
	       (t->job->removed ||
		(kept->what == H_FILE && takes_descriptor(t->vfile) &&
		 kept->end != t->job->meta.run));
}

int ops_handle_restore(struct fsd *d, struct handle_record *kept,
		       const struct target *t, int fd)
{
	struct handle *h = ops_handle_make(d, kept->what, t, kept);
	bool gone = ops_vfile_is_gone(kept, t);
	struct fuse_file_info unused = { 0 };
	int flags = (int)kept->flags & (O_ACCMODE | O_APPEND);
	unsigned run = kept->run;
	int r = h ? open_files_adopt(d->open_files, kept, h) : -ENOMEM;

	if (r == 0 && h->kind == H_STAGED)
		r = -ESTALE; /* the file's text ended with the previous server */

	if (r == 0 && gone)
		open_gone(h, fd);
	else
		fd_close(&fd);
	if (r == 0 && t->kind == T_NODE)
		h->fd = node_open(t->node, store_read_only(d->store)
						   ? O_RDONLY : flags);
	if (r == 0 && t->kind == T_NODE && h->fd < 0)
		r = h->fd;
	else if (r == 0 && t->kind == T_NODE && kept->writer)
		node_writer_begin(t->node);
	if (r == 0 && t->kind == T_VFILE && !gone && h->kind != H_CTL &&
	    h->kind != H_SINK && h->kind != H_FEED)
		r = open_vfile_read(h, &unused);
	if (r == 0 && t->kind == T_FSD && h->kind == H_TEXT)
		r = control_text(d, t->entry, kept->uid, &h->text);
	if (h && h->fd >= 0)
		h->payer = user_opens(d->users, kept->uid);
	kept->run = run;
	if (r < 0 && h) { /* keep the number, without an object */
		open_files_adopt(d->open_files, take_ptr(h->kept), NULL);
		ops_handle_free(h);
	}
	return r;
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h;
	struct target t;
	int r = 0;

	if (guest_open(req, ino, fi))
		return;
	ops_hold(req, ino, NULL);
	h = opened_before(req, fi);
	if (!h) {
		r = ops_target(req, ino, &t);
		if (r == 0)
			r = do_open(req, &t, fi, &h);
		if (r == 0)
			r = ops_handle_weigh(req, h);
		/* no flush is needed: its close has no result */
		fi->noflush = !wants_write(fi) || (h && h->kind == H_SINK);
		if (r == 0)
			publish(req, h, fi);
	}
	if (r == 0 && ops_handle_holds(h))
		r = ops_record_hold(req, h->t.job);
	if (r == 0 && ops_handle_sandbox(h))
		sandbox_hold(ops_handle_sandbox(h));
	if (r == 0) {
		fuse_reply_open(req, fi);
		return;
	}
	if (h)
		ops_handle_free(h);
	ops_fail(req, ino, NULL, r);
}

/* --- creating -------------------------------------------------------------------- */

static int create_sink(fuse_req_t req, const struct target *dir, unsigned vfile,
		       struct target *t)
{
	if (inotify_take_made(dir->job, vfile, fuse_req_ctx(req)->pid)) {
		*t = (struct target){ .kind = T_VFILE, .job = dir->job,
				      .vfile = vfile };
		return 0;
	}
	if (!job_takes_copies(dir->job))
		return ops_refuse(req, -EPERM, dir->job->meta.name,
				  "%s is a virtual file and cannot be made by "
				  "hand",
				  job_vfiles[vfile].name);
	job_vfile_copied(dir->job, vfile);
	job_keep(dir->job);
	*t = (struct target){ .kind = T_SINK, .job = dir->job,
			      .vfile = VFILE_SINK_FILE };
	return 0;
}

static int create_node(fuse_req_t req, const struct target *dir,
		       const char *name, mode_t mode, struct fuse_file_info *fi,
		       struct target *t, struct handle **ret)
{
	struct fsd *d = ops_fsd(req);
	struct user *payer = NULL;
	struct err err = { 0 };
	uint64_t before;
	int fd, r = ops_check_file(req, dir, name);

	if (r < 0)
		return r;
	t->kind = T_NODE;
	t->job = dir->job;
	t->node = node_find(ops_dir_node(dir), name);
	if (t->node)
		return fi->flags & O_EXCL && !requests_again(d, &before)
			       ? -EEXIST
			       : open_node(req, t, fi, ret);
	r = quota_check_create(ops_dir_node(dir), &err);
	if (r < 0)
		return ops_refuse(req, r, dir->job->meta.name, "%s: %s", name,
				  err.text);
	r = pay(req, t, &payer);
	if (r < 0)
		return r;
	requests_begin(d, 0);
	r = node_make_file(ops_dir_node(dir), name, mode,
			   fi->flags & (O_ACCMODE | O_APPEND), &t->node, &fd);
	if (r < 0) {
		user_closes(payer);
		return ops_refuse(req, r, dir->job->meta.name,
				  "%s cannot be made: %s", name, strerror(-r));
	}
	*ret = ops_handle_new(d, H_FILE, t);
	if (!*ret) {
		user_closes(payer);
		fd_close(&fd);
		return -ENOMEM;
	}
	(*ret)->payer = payer;
	run_expect(d, dir->job->meta.uid, name);
	set_direct(fi);
	(*ret)->fd = fd;
	(*ret)->kept->changed = true;
	(*ret)->kept->writer = wants_write(fi);
	(*ret)->kept->opener = fuse_req_ctx(req)->pid;
	if ((*ret)->kept->writer)
		node_writer_begin(t->node);
	return 0;
}

static int do_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode, struct fuse_file_info *fi, struct target *t,
		     struct handle **ret)
{
	struct target dir;
	unsigned vfile = 0;
	int r = ops_target(req, parent, &dir);

	if (r < 0)
		return r;
	if (dir.kind == T_ROOT)
		return ops_refuse(req, -EPERM, name,
				  "only jobs (directories) can be made here: "
				  "mkdir first");
	if (ops_sandbox_is(&dir)) {
		fi->direct_io = 1;
		return ops_sandbox_create(req, &dir, name, t, ret);
	}
	if (dir.kind == T_JOB)
		vfile = job_vfile_by_name(name);
	if (vfile) {
		r = create_sink(req, &dir, vfile, t);
		if (r == 0)
			*ret = ops_handle_new(ops_fsd(req), H_SINK, t);
		/* the kernel shall cache no page of it */
		fi->direct_io = fi->noflush = 1;
		return r < 0 ? r : *ret ? 0 : -ENOMEM;
	}
	return create_node(req, &dir, name, mode, fi, t, ret);
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	struct fuse_entry_param e;
	struct handle *h = NULL;
	struct target t = { 0 };
	int r;

	if (guest_create(req, parent, name, mode, fi))
		return;
	ops_hold(req, parent, NULL);
	h = opened_before(req, fi);
	if (h)
		t = h->t;
	r = h ? 0 : do_create(req, parent, name, mode, fi, &t, &h);
	if (r == 0)
		r = ops_entry(req, &t, &e);
	if (r < 0) {
		/* close the handle: no process will close it */
		if (h && t.kind == T_NODE && h->kept->writer)
			node_writer_end(t.node);
		if (h)
			ops_handle_free(h);
		ops_fail(req, parent, name, r);
		return;
	}
	publish(req, h, fi);
	fuse_reply_create(req, &e, fi);
}
