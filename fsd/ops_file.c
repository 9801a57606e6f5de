/* SPDX-License-Identifier: Apache-2.0 */
/* Open files: stored ones, virtual ones, and copies that have no effect. */
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "chores.h"
#include "commit.h"
#include "depot.h"
#include "face.h"
#include "parsed.h"
#include "run.h"
#include "wait.h"

enum handle_kind {
	H_FILE,   /* fd: a stored file, stdout, stderr, log, result.json */
	H_TEXT,   /* text made at open and again at each read of offset 0 */
	H_WAIT,   /* wait, *.follow: may park */
	H_CTL,    /* verbs */
	H_SINK,   /* written bytes are accepted and dropped */
};

struct handle {
	struct list node; /* in fsd->handles */
	enum handle_kind kind;
	struct target t;  /* with references to its job and node */
	int fd;           /* owned, H_FILE */
	unsigned run;     /* H_WAIT: the run at open, 0 if none was under way */
	uint64_t end;     /* H_WAIT: behind the last byte read, for poll */
	bool writer;      /* counted in node->writers */
	bool changed;     /* something was written through it */
	int seen;         /* `state`: the one that was read last, -1 none */
	struct buf text;  /* H_TEXT */
};

static struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

static struct handle *handle_new(struct fsd *d, enum handle_kind kind,
				 const struct target *t)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	list_add_tail(&d->handles, &h->node);
	h->kind = kind;
	h->t = *t;
	h->fd = -1;
	h->seen = -1;
	if (t->job)
		job_ref(t->job);
	if (t->kind == T_NODE)
		node_ref(t->node);
	return h;
}

static void handle_free(struct handle *h)
{
	list_del(&h->node);
	fd_close(&h->fd);
	buf_done(&h->text);
	if (h->t.kind == T_NODE)
		node_unref(h->t.node);
	if (h->t.job)
		job_unref(h->t.job);
	free(h);
}

off_t ops_handle_size(const struct job *job, unsigned row)
{
	struct stat st;

	list_for_each(pos, tmp, &job->d->handles) {
		struct handle *h = list_entry(pos, struct handle, node);

		if (h->t.job == job && h->t.kind == T_ROW && h->t.row == row &&
		    h->fd >= 0 && fstat(h->fd, &st) == 0)
			return st.st_size;
	}
	return 0;
}

/* The mount is gone: nobody will release what is still open. */
void ops_handles_free(struct fsd *d)
{
	list_for_each(pos, tmp, &d->handles)
		handle_free(list_entry(pos, struct handle, node));
}

static bool wants_write(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY;
}

/* --- opening ------------------------------------------------------------------ */

static int open_node(fuse_req_t req, const struct target *t,
		     struct fuse_file_info *fi, struct handle **ret)
{
	bool write = wants_write(fi) || (fi->flags & O_TRUNC);
	int flags = fi->flags & (O_ACCMODE | O_APPEND | O_TRUNC);

	if (t->node->is_dir)
		return -EISDIR;
	if (write && t->node->area == AREA_OUTPUT)
		return ops_refuse(req, -EPERM, t->node->name,
				  "results cannot be changed");
	if (write && t->job && job_is_frozen(t->job))
		return ops_refuse(req, -EBUSY, t->job->meta.name,
				  "the job is %s: its inputs are frozen until "
				  "it has ended",
				  state_name(t->job->meta.state));
	*ret = handle_new(ops_fsd(req), H_FILE, t);
	if (!*ret)
		return -ENOMEM;
	(*ret)->fd = node_open(t->node, flags);
	if ((*ret)->fd < 0)
		return (*ret)->fd;
	(*ret)->writer = write;
	(*ret)->changed = fi->flags & O_TRUNC;
	t->node->version += (*ret)->changed;
	if (write)
		t->node->writers++;
	return 0;
}

static int row_text(struct handle *h)
{
	const struct job *job = h->t.job;

	buf_clear(&h->text);
	switch (h->t.row) {
	case JOB_ROW_STATE:
		return buf_fmt(&h->text, "%s\n", state_name(job->meta.state));
	case JOB_ROW_ERROR:
		return buf_str(&h->text, job->error ? job->error : "");
	case JOB_ROW_EXIT_CODE:
		return buf_fmt(&h->text, "%u\n", job->meta.exit_code);
	default:
		return 0;
	}
}

static int open_fd(struct handle *h, int fd)
{
	h->kind = H_FILE;
	h->fd = fd;
	return fd == -ENOENT && h->t.row == JOB_ROW_LOG ? 0 : MIN(fd, 0);
}

/* Opens what a row's kind says for reading. */
static int open_row_read(struct handle *h, struct fuse_file_info *fi)
{
	struct job *job = h->t.job;
	const struct job_meta *m = &job->meta;

	fi->direct_io = 1; /* its size may change at any time */
	if (h->t.row == JOB_ROW_LOG)
		return open_fd(h, depot_log_open(job->d->depot, m->no));
	switch (job_rows[h->t.row].kind) {
	case ROW_STREAM:
		fi->direct_io = m->state != JOB_DONE; /* then mmap works */
		return open_fd(h, depot_run_open(job->d->depot, m->no, m->run,
						 job_rows[h->t.row].name));
	case ROW_FILE:
		if (h->t.row == JOB_ROW_EXIT_CODE)
			return row_text(h);
		fi->direct_io = 0;
		return open_fd(h, depot_run_open(job->d->depot, m->no, m->run,
						 "result.json"));
	case ROW_FOLLOW:
	case ROW_WAIT:
		h->kind = H_WAIT;
		h->run = job->run ? m->run : 0;
		fi->nonseekable = 1;
		return 0;
	case ROW_DIR:
		return -EISDIR;
	default:
		return row_text(h);
	}
}

static int open_row(fuse_req_t req, const struct target *t,
		    struct fuse_file_info *fi, struct handle **ret)
{
	bool ctl = t->row == JOB_ROW_CTL;

	if (!job_has_row(t->job, t->row))
		return -ENOENT;
	if (wants_write(fi) && !ctl && !ops_takes_copies(t->job))
		return ops_refuse(req, -EPERM, t->job->meta.name,
				  "%s is a virtual file and cannot be written",
				  job_rows[t->row].name);
	*ret = handle_new(ops_fsd(req), ctl ? H_CTL : wants_write(fi) ? H_SINK : H_TEXT, t);
	if (!*ret)
		return -ENOMEM;
	fi->direct_io = 1;
	return (*ret)->kind == H_TEXT ? open_row_read(*ret, fi) : 0;
}

static int open_face(fuse_req_t req, const struct target *t,
		     struct fuse_file_info *fi, struct handle **ret)
{
	uid_t uid = fuse_req_ctx(req)->uid;
	bool ctl = t->place == FSD_ROW_CTL;

	if (face_is_dir(t->place))
		return -EISDIR;
	if (wants_write(fi) && !ctl)
		return -EPERM;
	if (wants_write(fi) && uid != 0 && uid != geteuid())
		return ops_refuse(req, -EACCES, FSD_DIR_NAME,
				  "ctl is for the user who runs fsd");
	*ret = handle_new(ops_fsd(req), ctl ? H_CTL : H_TEXT, t);
	if (!*ret)
		return -ENOMEM;
	fi->direct_io = 1;
	return face_text(ops_fsd(req), t->place, uid, &(*ret)->text);
}

static int do_open(fuse_req_t req, const struct target *t,
		   struct fuse_file_info *fi, struct handle **ret)
{
	switch (t->kind) {
	case T_NODE:
		return open_node(req, t, fi, ret);
	case T_ROW:
		return open_row(req, t, fi, ret);
	case T_FSD:
		return open_face(req, t, fi, ret);
	case T_SINK:
		*ret = handle_new(ops_fsd(req), H_SINK, t);
		return *ret ? 0 : -ENOMEM;
	default:
		return -EISDIR;
	}
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = NULL;
	struct target t;
	int r = ops_target(req, ino, &t);

	if (r == 0)
		r = do_open(req, &t, fi, &h);
	if (r < 0) {
		if (h)
			handle_free(h);
		fuse_reply_err(req, -r);
		return;
	}
	fi->fh = (uintptr_t)h;
	fuse_reply_open(req, fi);
}

/* --- creating -------------------------------------------------------------------- */

static int create_sink(fuse_req_t req, const struct target *dir, unsigned row,
		       struct target *t)
{
	if (!ops_takes_copies(dir->job))
		return ops_refuse(req, -EPERM, dir->job->meta.name,
				  "%s is a virtual file and cannot be made by "
				  "hand",
				  job_rows[row].name);
	*t = (struct target){ .kind = T_SINK, .job = dir->job,
			      .row = ROW_SINK_FILE };
	return 0;
}

static int create_node(fuse_req_t req, const struct target *dir,
		       const char *name, mode_t mode, struct fuse_file_info *fi,
		       struct target *t, struct handle **ret)
{
	int fd, r = ops_check_writable(req, dir, name);

	if (r < 0)
		return r;
	t->kind = T_NODE;
	t->job = dir->job;
	t->node = node_find(ops_dir_node(dir), name);
	if (t->node)
		return fi->flags & O_EXCL ? -EEXIST
					  : open_node(req, t, fi, ret);
	r = node_make_file(ops_dir_node(dir), name, mode,
			   fi->flags & (O_ACCMODE | O_APPEND), &t->node, &fd);
	if (r < 0)
		return ops_refuse(req, r, dir->job->meta.name,
				  "%s cannot be made: %s", name, strerror(-r));
	*ret = handle_new(ops_fsd(req), H_FILE, t);
	if (!*ret) {
		fd_close(&fd);
		return -ENOMEM;
	}
	(*ret)->fd = fd;
	(*ret)->changed = true;
	(*ret)->writer = wants_write(fi);
	t->node->writers += (*ret)->writer;
	return 0;
}

static int do_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode, struct fuse_file_info *fi, struct target *t,
		     struct handle **ret)
{
	struct target dir;
	unsigned row = 0;
	int r = ops_target(req, parent, &dir);

	if (r < 0)
		return r;
	if (dir.kind == T_ROOT)
		return ops_refuse(req, -EPERM, name,
				  "only jobs (directories) can be made here: "
				  "mkdir first");
	if (dir.kind == T_JOB)
		row = job_row_by_name(name);
	if (row) {
		r = create_sink(req, &dir, row, t);
		if (r == 0)
			*ret = handle_new(ops_fsd(req), H_SINK, t);
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
	int r = do_create(req, parent, name, mode, fi, &t, &h);

	if (r == 0)
		r = ops_entry(req, &t, &e);
	if (r < 0) {
		if (h)
			handle_free(h);
		fuse_reply_err(req, -r);
		return;
	}
	fi->fh = (uintptr_t)h;
	fuse_reply_create(req, &e, fi);
}

/* --- reading ----------------------------------------------------------------------- */

#define READ_MAX (1u << 20)

static char read_room[READ_MAX]; /* one thread; replied before the next */

static void reply_text(fuse_req_t req, struct handle *h, size_t size, off_t off)
{
	int r = 0;

	if (off == 0 && h->t.kind == T_ROW) {
		r = row_text(h);
		h->seen = (int)h->t.job->meta.state;
	}
	if (r < 0)
		fuse_reply_err(req, -r);
	else if ((size_t)off >= h->text.len)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, h->text.data + off,
			       MIN(size, h->text.len - (size_t)off));
}

static void reply_file(fuse_req_t req, struct handle *h, size_t size, off_t off)
{
	ssize_t n = 0;

	if (h->fd >= 0)
		n = pread(h->fd, read_room, MIN(size, READ_MAX), off);
	if (n < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_buf(req, read_room, (size_t)n);
}

static struct wait_read wait_what(struct handle *h, size_t size, uint64_t off,
				  int flags)
{
	if (!h->run && h->t.job->run)
		h->run = h->t.job->meta.run;
	return (struct wait_read){
		.row = h->t.row, .run = h->run, .offset = off, .size = size,
		.nonblock = flags & O_NONBLOCK, .end = &h->end,
	};
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	     struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);
	struct wait_read what;

	(void)ino;
	switch (h->kind) {
	case H_FILE:
		reply_file(req, h, size, off);
		return;
	case H_TEXT:
		reply_text(req, h, size, off);
		return;
	case H_WAIT:
		what = wait_what(h, size, (uint64_t)off, fi->flags);
		wait_read(h->t.job, req, &what);
		return;
	default:
		fuse_reply_buf(req, NULL, 0);
	}
}

void op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
	     struct fuse_pollhandle *ph)
{
	struct handle *h = handle_of(fi);
	unsigned events = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
	struct wait_read what;

	(void)ino;
	if (h->kind == H_WAIT) {
		what = wait_what(h, 1, h->end, 0);
		events = wait_poll_events(h->t.job, &what);
	} else if (h->kind == H_TEXT && h->t.kind == T_ROW &&
		   h->t.row == JOB_ROW_STATE) { /* as sysfs does: a change */
		events = h->seen == (int)h->t.job->meta.state
				 ? 0
				 : POLLIN | POLLRDNORM | POLLPRI;
	}
	if (ph && h->t.job)
		wait_poll_add(h->t.job, ph);
	else if (ph)
		fuse_pollhandle_destroy(ph);
	fuse_reply_poll(req, events);
}

/* --- writing ----------------------------------------------------------------------- */

static int write_ctl(fuse_req_t req, struct handle *h, const char *data,
		     size_t len)
{
	struct fsd *d = ops_fsd(req);
	struct ctl_command cmd;
	struct err err = { 0 };
	const char *path = FSD_DIR_NAME;
	int r;

	if (h->t.kind == T_FSD) {
		r = face_ctl(d, data, len, &err);
	} else {
		path = h->t.job->meta.name;
		r = h->t.job->removed ? -ENOENT
				      : ctl_parse(data, len, false, &cmd, &err);
		if (r == 0 && cmd.verb == CTL_START)
			r = commit_start(h->t.job, &err);
		else if (r == 0 && cmd.verb == CTL_KILL)
			run_kill(h->t.job);
		else if (r == 0)
			r = run_signal(h->t.job, cmd.signal);
	}
	if (r == -ESRCH)
		err_set(&err, r, "ctl: the program is not running");
	if (r < 0)
		return ops_refuse(req, r, path, "%s", err.text);
	return 0;
}

static int write_file(fuse_req_t req, struct handle *h, const char *data,
		      size_t size, off_t off)
{
	/* It may have been moved to another job since it was opened. */
	struct job *job = h->t.node->job ? h->t.node->job : h->t.job;
	ssize_t n;

	if (job_is_frozen(job) && !job->removed)
		return ops_refuse(req, -EBUSY, job->meta.name,
				  "the job is %s: its inputs are frozen until "
				  "it has ended",
				  state_name(job->meta.state));
	n = pwrite(h->fd, data, size, off);
	if (n < 0)
		return ops_refuse(req, -errno, job->meta.name,
				  "%s cannot be stored in %s: %s",
				  h->t.node->name, depot_dir(job->d->depot),
				  strerror(errno));
	h->changed = true;
	h->t.node->version++;
	return (int)n;
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size,
	      off_t off, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);
	int r = (int)size;

	(void)ino;
	if (h->kind == H_CTL && (r = write_ctl(req, h, data, size)) == 0)
		r = (int)size;
	if (h->kind == H_FILE)
		r = write_file(req, h, data, size, off);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_write(req, (size_t)r);
}

int ops_handle_truncate(struct fuse_file_info *fi, off_t size)
{
	struct handle *h = handle_of(fi);

	if (h->kind != H_FILE)
		return 0;
	if (ftruncate(h->fd, size) < 0)
		return -errno;
	h->changed = true;
	h->t.node->version++;
	return 0;
}

/* A FLUSH whose answer needs a large config.json parsed first. The close that
 * it belongs to waits, so the handle lives. */
struct slow_flush {
	fuse_req_t req;
	struct handle *h;
};

static void on_parsed(void *arg)
{
	struct slow_flush *f = arg;

	fuse_reply_err(f->req,
		       -commit_precheck(f->h->t.job, f->h->t.node));
	free(f);
}

static int flush_slowly(fuse_req_t req, struct handle *h)
{
	struct slow_flush *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	*f = (struct slow_flush){ .req = req, .h = h };
	r = parsed_prefetch(h->t.job, h->t.node, on_parsed, f);
	if (r < 0)
		free(f);
	return r;
}

/*
 * Called at each close of a duplicate, too: it may refuse, it never starts
 * anything. Bash flushes before its first write, so what was not changed is
 * not judged.
 */
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);
	int r = 0;

	(void)ino;
	if (h->kind == H_FILE && h->t.kind == T_NODE && h->writer &&
	    h->changed && !h->t.node->unlinked) {
		if (commit_precheck_is_slow(h->t.job, h->t.node) &&
		    flush_slowly(req, h) == 0)
			return;
		r = commit_precheck(h->t.job, h->t.node);
	}
	fuse_reply_err(req, -r);
}

/* A disk may take its time: the chores' thread waits for it, not the loop. */
struct sync_task {
	struct task task;
	fuse_req_t req; /* answered by sync_done() */
	int fd;         /* owned: a duplicate, the handle may go */
	bool data;
};

static int sync_work(struct task *t)
{
	struct sync_task *s = container_of(t, struct sync_task, task);

	return (s->data ? fdatasync(s->fd) : fsync(s->fd)) < 0 ? errno : 0;
}

static void sync_done(struct task *t, int result)
{
	struct sync_task *s = container_of(t, struct sync_task, task);

	fuse_reply_err(s->req, result);
	fd_close(&s->fd);
	free(s);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
	      struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);
	struct sync_task *s;

	(void)ino;
	if (h->kind != H_FILE || !h->writer || h->fd < 0) {
		fuse_reply_err(req, 0);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	s->task.work = sync_work;
	s->task.done = sync_done;
	s->req = req;
	s->data = datasync;
	s->fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
	depot_chore(ops_fsd(req)->depot, &s->task);
}

/* The last close of this open file: the moment that counts. */
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);
	struct node *node = h->t.kind == T_NODE ? h->t.node : NULL;

	(void)ino;
	if (node && h->writer) {
		node->writers--;
		if (!node->unlinked && node->area == AREA_FILES)
			ops_changed(node->job, h->changed && !node->writers
						       ? node
						       : NULL);
	}
	handle_free(h);
	fuse_reply_err(req, 0);
}
