/* SPDX-License-Identifier: Apache-2.0 */
/* Open files: reading, writing, and the closing that starts a job. */
#include "ops_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "chores.h"
#include "commit.h"
#include "depot.h"
#include "face.h"
#include "open_files.h"
#include "parsed.h"
#include "requests.h"
#include "run.h"
#include "ops_remote.h"

/* --- reading ----------------------------------------------------------------------- */

#define READ_MAX (1u << 20)

static char read_room[READ_MAX]; /* one thread; replied before the next */

static void reply_text(fuse_req_t req, struct handle *h, size_t size, off_t off)
{
	int r = 0;

	if (off == 0 && h->t.kind == T_ROW) {
		r = ops_row_text(h);
		h->kept->seen = (int)h->t.job->meta.state;
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

	if (h->t.kind == T_ROW && h->t.row == JOB_ROW_LOG)
		job_log_flush(h->t.job);
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
	if (!h->kept->run && h->t.job->run)
		h->kept->run = h->t.job->meta.run;
	return (struct wait_read){
		.row = h->t.row, .run = h->kept->run, .offset = off, .size = size,
		.nonblock = flags & O_NONBLOCK, .end = &h->kept->end,
		.events = h->events,
	};
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	     struct fuse_file_info *fi)
{
	struct handle *h = ops_handle(req, fi);
	struct wait_read what;

	if (remote_read(req, ino, size, off))
		return;
	if (!h) {
		fuse_reply_err(req, ESTALE);
		return;
	}
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
	struct handle *h = ops_handle(req, fi);
	unsigned events = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
	struct wait_read what;

	if (remote_poll(req, ino, ph))
		return;
	if (!h) {
		if (ph)
			fuse_pollhandle_destroy(ph);
		fuse_reply_poll(req, POLLERR);
		return;
	}
	if (h->kind == H_WAIT) {
		what = wait_what(h, 1, h->kept->end, 0);
		events = wait_poll_events(h->t.job, &what);
	} else if (h->kind == H_TEXT && h->t.kind == T_ROW &&
		   h->t.row == JOB_ROW_STATE) { /* as sysfs does: a change */
		events = h->kept->seen == (int)h->t.job->meta.state
				 ? 0
				 : POLLIN | POLLRDNORM | POLLPRI;
	}
	if (ph && h->t.job) {
		h->kept->poll = requests_poll(ops_fsd(req));
		wait_poll_set(h->t.job, &h->poll, ph);
	} else if (ph) {
		fuse_pollhandle_destroy(ph);
	}
	fuse_reply_poll(req, events);
}

/* --- writing ----------------------------------------------------------------------- */

static void reply_ctl(fuse_req_t req, const char *path, int r, struct err *err,
		      size_t size)
{
	if (r == -ESRCH)
		err_set(err, r, "ctl: the program is not running");
	if (r < 0) {
		ops_refuse(req, r, path, "%s", err->text);
		fuse_reply_err(req, -r);
	} else {
		fuse_reply_write(req, size);
	}
}

/* `start`, which may need a large config.json parsed first. The write(2) that
 * it belongs to waits, so the handle lives. */
struct slow_start {
	struct commit_wait wait;
	fuse_req_t req;
	struct handle *h;
	size_t size;
};

static void start_job(fuse_req_t req, struct handle *h, size_t size)
{
	struct job *job = h->t.job;
	struct err err = { 0 };
	int r = job->removed ? -ENOENT : commit_start(job, &err);

	reply_ctl(req, job->meta.name, r, &err, size);
}

static void on_prepared(struct commit_wait *w)
{
	struct slow_start *s = container_of(w, struct slow_start, wait);

	start_job(s->req, s->h, s->size);
	free(s);
}

static void write_start(fuse_req_t req, struct handle *h, size_t size)
{
	struct slow_start *s = calloc(1, sizeof(*s));

	commit_prepare(h->t.job);
	if (s) {
		*s = (struct slow_start){ .wait.done = on_prepared, .req = req,
					  .h = h, .size = size };
		if (commit_wait(h->t.job, &s->wait))
			return;
		free(s);
	}
	start_job(req, h, size);
}

/* By the server before, that was killed before it could say so. */
static bool ctl_done_before(struct job *job, enum ctl_verb verb)
{
	uint64_t run;

	if (requests_again(job->d, &run))
		return verb == CTL_START ? job->meta.run > run
					 : verb == CTL_SIGNAL;
	requests_begin(job->d, job->meta.run);
	return false;
}

static void write_ctl(fuse_req_t req, struct handle *h, const char *data,
		      size_t size)
{
	struct job *job = h->t.kind == T_FSD ? NULL : h->t.job;
	struct ctl_command cmd;
	struct err err = { 0 };
	int r;

	if (!job)
		r = face_ctl(ops_fsd(req), data, size, &err);
	else if (job->removed)
		r = -ENOENT;
	else
		r = ctl_parse(data, size, false, &cmd, &err);
	if (job && r == 0 && !ctl_done_before(job, cmd.verb)) {
		if (cmd.verb == CTL_START) {
			write_start(req, h, size);
			return;
		}
		if (cmd.verb == CTL_KILL)
			run_kill(job);
		else
			r = run_signal(job, cmd.signal);
	}
	reply_ctl(req, job ? job->meta.name : FSD_DIR_NAME, r, &err, size);
}

/* It may have been moved to another job since it was opened. */
static struct job *job_of(const struct handle *h)
{
	return h->t.node->job ? h->t.node->job : h->t.job;
}

/* r: bytes written or negative errno. */
static void written(fuse_req_t req, struct handle *h, int r)
{
	struct job *job = job_of(h);

	quota_write_end(h->t.node);
	if (r < 0) {
		ops_refuse(req, r, job->meta.name,
			   "%s cannot be stored in %s: %s", h->t.node->name,
			   depot_dir(job->d->depot), strerror(-r));
		fuse_reply_err(req, -r);
		return;
	}
	h->kept->changed = true;
	node_changed(h->t.node);
	fuse_reply_write(req, (size_t)r);
}

/* When the disk is behind, the kernel holds up whoever writes much: not the
 * loop. The write(2) that it belongs to waits, so the handle lives. */
#define WRITE_LARGE 65536

struct large_write {
	struct task task;
	fuse_req_t req;
	struct handle *h;
	off_t off;
	size_t size;
	char data[];
};

static int large_work(struct task *t)
{
	struct large_write *w = container_of(t, struct large_write, task);
	ssize_t n = pwrite(w->h->fd, w->data, w->size, w->off);

	return n < 0 ? -errno : (int)n;
}

static void large_done(struct task *t, int result)
{
	struct large_write *w = container_of(t, struct large_write, task);

	written(w->req, w->h, result);
	free(w);
}

static int write_large(fuse_req_t req, struct handle *h, const char *data,
		       size_t size, off_t off)
{
	struct large_write *w = malloc(sizeof(*w) + size);
	int r;

	if (!w)
		return -ENOMEM;
	*w = (struct large_write){
		.task.work = large_work, .task.done = large_done,
		.req = req, .h = h, .off = off, .size = size,
	};
	memcpy(w->data, data, size);
	r = depot_chore(ops_fsd(req)->depot, DEPOT_DISK, &w->task);
	if (r < 0)
		free(w);
	return r;
}

/*
 * What is appended twice is there twice: where the file ended is kept, and what
 * the server before has appended of it is cut off. Return: 0: it is to be
 * written; size: it was; or a negative errno.
 */
static int append_again(struct handle *h, size_t size)
{
	struct fsd *d = job_of(h)->d;
	uint64_t before;
	struct stat st;

	if (fstat(h->fd, &st) < 0)
		return -errno;
	if (!requests_again(d, &before)) {
		requests_begin(d, (uint64_t)st.st_size);
		return 0;
	}
	if ((uint64_t)st.st_size >= before + size)
		return (int)size;
	if ((uint64_t)st.st_size > before &&
	    ftruncate(h->fd, (off_t)before) < 0)
		return -errno;
	return 0;
}

static void write_file(fuse_req_t req, struct handle *h, const char *data,
		       size_t size, off_t off)
{
	struct job *job = job_of(h);
	struct err err = { 0 };
	ssize_t n;
	int r;

	if (job_is_frozen(job) && !job->removed &&
	    !file_is_swap(h->t.node->name)) {
		ops_refuse(req, -EBUSY, job->meta.name,
			   "the job is %s: its inputs are frozen until it has "
			   "ended",
			   state_name(job->meta.state));
		fuse_reply_err(req, EBUSY);
		return;
	}
	r = quota_write_begin(h->t.node, h->fd, (uint64_t)off, size, &err);
	if (r < 0) {
		ops_refuse(req, r, job->meta.name, "%s: %s", h->t.node->name,
			   err.text);
		fuse_reply_err(req, -r);
		return;
	}
	if (h->kept->flags & O_APPEND) {
		r = append_again(h, size);
		if (r) {
			written(req, h, r);
			return;
		}
	}
	if (size >= WRITE_LARGE && write_large(req, h, data, size, off) == 0)
		return;
	n = pwrite(h->fd, data, size, off);
	written(req, h, n < 0 ? -errno : (int)n);
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size,
	      off_t off, struct fuse_file_info *fi)
{
	struct handle *h = ops_handle(req, fi);

	if (remote_write(req, ino, data, size, off, fi))
		return;
	if (!h) {
		fuse_reply_err(req, ESTALE);
		return;
	}
	if (h->kind == H_CTL)
		write_ctl(req, h, data, size);
	else if (h->kind == H_FILE)
		write_file(req, h, data, size, off);
	else
		fuse_reply_write(req, size);
}

int ops_handle_truncate(fuse_req_t req, struct fuse_file_info *fi, off_t size)
{
	struct handle *h = ops_handle(req, fi);

	if (!h)
		return -ESTALE;
	if (h->kind != H_FILE)
		return 0;
	if (ftruncate(h->fd, size) < 0)
		return -errno;
	h->kept->changed = true;
	node_changed(h->t.node);
	return 0;
}

/*
 * A FLUSH comes with each close of a duplicate, and nothing says which one is
 * the last. A command of a shell closes what the shell has opened and will give
 * to the next one; but who closes what it opened itself is done.
 */
static bool is_last_close(fuse_req_t req, const struct handle *h)
{
	pid_t pid = fuse_req_ctx(req)->pid;
	char path[64];

	if (h->t.node->writers > 1)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid,
		 (int)h->kept->opener);
	return pid == h->kept->opener || access(path, F_OK) == 0;
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

	fuse_reply_err(f->req, -commit_precheck(f->h->t.job, f->h->t.node,
						is_last_close(f->req, f->h)));
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
	struct handle *h = ops_handle(req, fi);
	int r = 0;

	if (remote_sync(req, ino))
		return;
	if (h && h->kind == H_FILE && h->t.kind == T_NODE && h->kept->writer &&
	    h->kept->changed && !h->t.node->unlinked) {
		if (commit_precheck_is_slow(h->t.job, h->t.node) &&
		    flush_slowly(req, h) == 0)
			return;
		r = commit_precheck(h->t.job, h->t.node,
				    is_last_close(req, h));
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
	struct handle *h = ops_handle(req, fi);
	struct sync_task *s;

	if (remote_sync(req, ino))
		return;
	if (!h || h->kind != H_FILE || !h->kept->writer || h->fd < 0) {
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
	if (depot_chore(ops_fsd(req)->depot, DEPOT_DISK, &s->task) < 0)
		sync_done(&s->task, EIO);
}

/* It may start a job, and only once: the server before may have done so. */
static void closed(const struct handle *h, struct node *node)
{
	struct job *job = node->job;
	bool complete = h->kept->changed && !node->writers;
	uint64_t run;

	if (requests_again(job->d, &run) && job->meta.run > run)
		return;
	requests_begin(job->d, job->meta.run);
	ops_changed(job, complete ? node : NULL);
}

/* The last close of this open file: the moment that counts. */
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = ops_handle(req, fi);
	struct node *node;

	if (remote_sync(req, ino))
		return;
	if (!h) {
		open_files_drop(ops_fsd(req), fi->fh);
		fuse_reply_err(req, 0);
		return;
	}
	node = h->t.kind == T_NODE ? h->t.node : NULL;
	if (node && h->kept->writer) {
		node->writers--;
		if (!node->unlinked && node->area == AREA_FILES)
			closed(h, node);
	}
	ops_handle_free(h);
	fuse_reply_err(req, 0);
}
