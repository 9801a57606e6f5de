/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing to open files, and the flush and release that start a job. Owns the
 * doubt about a close (handle->doubt). All functions run on the loop, in a
 * fiber that may wait for the disk.
 */
#include "ops_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fsd/submit/submit.h"
#include "fsd/store/store_io.h"
#include "handle_table.h"
#include "fsd/mount/requests.h"
#include "fsd/control/control.h"
#include "fsd/mount/broker.h"
#include "fsd/network/network.h"
#include "fsd/network/ports.h"
#include "fsd/jobs/parsed_config.h"
#include "fsd/run/run.h"
#include "fsd/jobs/unsynced_inputs.h"
#include "ops_refusal.h"
#include "ops_guest.h"
#include "ops_sandbox.h"

/* --- writing ----------------------------------------------------------------------- */

static void reply_ctl(fuse_req_t req, const char *path, int r, struct err *err,
		      size_t size)
{
	if (r == -ESRCH)
		err_set(err, r, "ctl: the program is not running");
	if (r < 0) {
		ops_answer(req, ops_refuse(req, r, path, "%s", err->text));
	} else {
		fuse_reply_write(req, size);
	}
}

/* `start`, which may have to parse a large config.json first. Its write(2)
 * waits, so the handle stays open. */
struct slow_start {
	struct submit_wait wait;
	fuse_req_t req;
	struct handle *h;
	size_t size;
};

static void start_job(fuse_req_t req, struct handle *h, size_t size)
{
	struct job *job = h->t.job;
	struct err err = { 0 };
	int r = job->removed ? -ENOENT : submit_start(job, &err);

	reply_ctl(req, job->meta.name, r, &err, size);
}

static void on_prepared(struct submit_wait *w)
{
	struct slow_start *s = container_of(w, struct slow_start, wait);

	start_job(s->req, s->h, s->size);
	free(s);
}

static void write_start(fuse_req_t req, struct handle *h, size_t size)
{
	struct slow_start *s = calloc(1, sizeof(*s));

	submit_prepare(h->t.job);
	if (s) {
		*s = (struct slow_start){ .wait.done = on_prepared, .req = req,
					  .h = h, .size = size };
		if (submit_wait(h->t.job, &s->wait))
			return;
		free(s);
	}
	start_job(req, h, size);
}

/* Returns whether the previous server had carried out this verb, and was killed before it
 * replied. */
static bool ctl_done_before(struct job *job, enum ctl_verb verb)
{
	uint64_t run;

	if (requests_again(job->d, &run))
		return verb == CTL_START ? job->meta.run > run
					 : verb == CTL_SIGNAL ||
						   verb == CTL_INTERRUPT;
	requests_begin(job->d, job->meta.run);
	return false;
}

static int kill_job(struct job *job, struct err *err)
{
	int r;

	run_kill(job);
	r = run_killed(job);
	return r < 0 ? err_sys(err, r, "ctl: the disk does not take that the "
			       "job is cancelled, which is tried until it does")
		     : 0;
}

/* Opens the port, and waits until its socket is there. */
static int open_port(const struct job *job, unsigned port, struct err *err)
{
	struct ports *p = ports_find(network_ports(job->d->network),
				     PORTS_KEY(PORT_OF_JOB, job->meta.no));

	return p ? ports_ask(p, port, err)
		 : err_set(err, -ESRCH, "ctl: no machine of this job runs with "
			   "\"ports\"");
}

static void write_ctl(fuse_req_t req, struct handle *h, const char *data,
		      size_t size)
{
	struct job *job = h->t.kind == T_FSD ? NULL : h->t.job;
	struct ctl_command cmd = { 0 };
	struct err err = { 0 };
	int r;

	if (!job)
		r = control_ctl(ops_fsd(req), data, size, &err);
	else if (job->removed)
		r = -ENOENT;
	else if (store_read_only(job->d->store) &&
		 job->meta.state != JOB_RUNNING)
		r = err_set(&err, -EROFS, "ctl: %s",
			    store_read_only(job->d->store));
	else
		r = ctl_parse(data, size, false, &cmd, &err);
	if (job && r == 0 && !ctl_done_before(job, cmd.verb)) {
		if (cmd.verb == CTL_START) {
			write_start(req, h, size);
			return;
		}
		if (cmd.verb == CTL_KILL)
			r = kill_job(job, &err);
		else if (cmd.verb == CTL_EOF)
			r = run_feed_end(job);
		else if (cmd.verb == CTL_PORT)
			r = open_port(job, cmd.number, &err);
		else
			r = cmd.verb == CTL_INTERRUPT
				    ? run_interrupt_program(job)
				    : run_signal(job, cmd.number);
	}
	reply_ctl(req, job ? job->meta.name : FSD_DIR_NAME, r, &err, size);
}

/* Returns the job that has the file now: it may have been moved since the open.
 * NULL: it was removed before the open (/proc/PID/fd/N opens such a file). */
static struct job *job_of(const struct handle *h)
{
	struct job *job = job_of_node(h->t.node);

	return job ? job : h->t.job;
}

static const char *job_name(const struct handle *h)
{
	return job_of(h) ? job_of(h)->meta.name : h->t.node->name;
}

/* Locks the job that has the file now, also if its owner is not the caller:
 * rights are checked at open. */
void ops_hold_job_of(const struct handle *h)
{
	struct job *job;

	while (fiber_self() &&
	       (job = h->t.kind == T_NODE ? job_of(h) : h->t.job) &&
	       job->lock.owner != fiber_self()) {
		jobs_let_go(); /* never hold two locks */
		job_hold(job);
	}
}

/* Ends a write. r: bytes written, or negative errno. data NULL: the previous
 * server has written them. */
static void written(fuse_req_t req, struct handle *h, int r, const char *data,
		    off_t off)
{
	int wrong;

	quota_write_end(h->t.node);
	if (r < 0) {
		h->t.node->cut = true;
		ops_answer(req, ops_refuse(req, r, job_name(h),
					   "%s cannot be stored in %s: %s",
					   h->t.node->name,
					   store_dir(h->d->store),
					   strerror(-r)));
		return;
	}
	h->kept->changed = true;
	node_changed(h->t.node);
	wrong = data ? ops_config_written(req, h, data, (size_t)r, off) : 0;
	if (wrong < 0)
		ops_answer(req, wrong);
	else
		fuse_reply_write(req, (size_t)r);
}

/*
 * Prepares an append that the previous server may have done, because appending
 * twice would duplicate it. The file's end is noted before an append; what the
 * previous server has appended beyond that is cut off. The kernel sends one
 * write at a time. Return: 0: write it; size: it was written; or a negative
 * errno.
 */
static int append_again(struct handle *h, size_t size)
{
	struct fsd *d = h->d;
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
	return (uint64_t)st.st_size > before
		       ? call_truncate(d->store, h->fd, (off_t)before)
		       : 0;
}

static void write_file(fuse_req_t req, struct handle *h, const char *data,
		       size_t size, off_t off)
{
	struct job *job = job_of(h);
	struct err err = { 0 };
	int r;

	if (job && ops_is_frozen(job, h->t.node->name) && !job->removed) {
		ops_answer(req, ops_refuse_frozen(req, job, h->t.node->name,
						  true));
		return;
	}
	/* the store may have become read-only after this file was opened */
	if (store_read_only(h->d->store))
		r = err_set(&err, -EROFS, "%s", store_read_only(h->d->store));
	else
		r = quota_write_begin(h->t.node, h->fd, (uint64_t)off, size,
				      &err);
	if (r < 0) {
		h->t.node->cut = true;
		ops_answer(req, ops_refuse(req, r, job_name(h), "%s: %s",
					   h->t.node->name, err.text));
		return;
	}
	if (h->kept->flags & O_APPEND) {
		r = append_again(h, size);
		if (r) {
			written(req, h, r, NULL, 0);
			return;
		}
	}
	/* No lock is held: the write changes no name and may take long. Its
	 * write(2) waits, so the handle stays open. */
	written(req, h, (int)call_write(h->d->store, h->fd, data, size, off),
		data, off);
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size,
	      off_t off, struct fuse_file_info *fi)
{
	struct handle *h = ops_handle(req, fi);

	if (guest_write(req, ino, data, size, off, fi))
		return;
	if (!h) {
		ops_answer(req, -ESTALE);
		return;
	}
	if (h->kind == H_CTL)
		ops_hold_job_of(h);
	if (h->kind == H_CTL)
		write_ctl(req, h, data, size);
	else if (h->kind == H_FILE)
		write_file(req, h, data, size, off);
	else if (h->kind == H_STAGED)
		ops_staged_write(req, h, data, size, off);
	else if (h->kind == H_FEED)
		blocked_write(h->t.job, req, data, size, fi->flags & O_NONBLOCK);
	else
		fuse_reply_write(req, size);
}

int ops_handle_truncate(fuse_req_t req, struct fuse_file_info *fi, off_t size)
{
	struct handle *h = ops_handle(req, fi);
	int r;

	if (!h)
		return -ESTALE;
	if (h->kind != H_FILE)
		return 0;
	r = call_truncate(h->d->store, h->fd, size);
	if (r < 0)
		return r;
	h->kept->changed = true;
	node_changed(h->t.node);
	return 0;
}

/*
 * Returns whether a flush is probably the last one. A FLUSH comes with each
 * close of a duplicate. A shell's command closes what the shell has opened and
 * will pass to the next command; but a thread that closes what it has opened
 * itself is done.
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

/* Parses a large config.json first, on a worker thread. */
static void parse_first(struct handle *h)
{
	struct job *job = job_of_node(h->t.node);

	if (job && submit_precheck_is_slow(job, h->t.node))
		parsed_config_prepare(job, h->t.node);
}

/*
 * Time after a close in which its release normally comes; it takes
 * microseconds. Otherwise the closed descriptor may be a duplicate: a shell
 * that restores a redirection closes one, and may write on through the other.
 * Then ask whether that process still has the file open.
 */
#define DOUBT_NS (5 * NS_PER_MS)

static void ask_closer(void *arg)
{
	const struct handle *h = arg;
	struct fsd *d = h->d;
	uint64_t fh = open_files_fh(d->open_files, h->kept);
	int32_t closer = h->kept->closer;
	int has = broker_opens(d->broker, closer, h->t.node->ino);

	/* The handle may have been released meanwhile, or another thread has flushed
	 * it. */
	if (has > 0 && open_files_at(d->open_files, fh, OPEN_FILE) == h &&
	    h->kept->closer == closer && job_of(h)->accept.promised)
		job_start(job_of(h), submit_after_release);
}

static void on_doubt(struct loop_timer *t)
{
	struct handle *h = t->arg;
	const struct job *job = job_of(h);

	/* the job was not examined since the restart, so it is not known yet whether its
	 * start was promised */
	if (job->leftover.left && !job->removed)
		ops_doubt(h);
	else if (job->accept.promised)
		fiber_run(ask_closer, h);
}

void ops_doubt(struct handle *h)
{
	h->doubt.fn = on_doubt;
	h->doubt.arg = h;
	loop_timer_set(h->d->loop, &h->doubt, DOUBT_NS);
}

/*
 * Handles FLUSH, for which close(2) waits. It also comes at each close of a
 * duplicate: so it may refuse, but starts no job. Bash flushes before its first
 * write, so unchanged files are not judged.
 */
static int flush(fuse_req_t req, struct handle *h)
{
	bool last = is_last_close(req, h);
	struct job *job;
	int r;

	parse_first(h);
	h->kept->failed = false;
	job = job_of_node(h->t.node); /* the job that has the file now */
	if (!job)
		return 0;
	r = submit_precheck(job, h->t.node, last);
	if (r < 0 || !last || h->t.node->area != AREA_FILES)
		return r;
	r = submit_would_start(job, h->t.node);
	if (r > 0) {
		r = submit_accept(job, 1 + open_files_fh(h->d->open_files,
						     h->kept));
		h->kept->closer = r == 0 ? fuse_req_ctx(req)->pid : 0;
		if (r == 0)
			ops_doubt(h);
	}
	h->kept->failed = r < 0;
	return r;
}

/*
 * Locks the job after it was examined. Only then it is known what this close
 * completes; a large config is examined on a worker thread. The close(2) waits,
 * so the handle stays open.
 */
static void hold_settled(const struct handle *h)
{
	do
		ops_hold_job_of(h);
	while (h->kind == H_FILE && h->t.kind == T_NODE &&
	       ops_await_settled(job_of(h)));
}

void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = ops_handle(req, fi);
	int r = 0;

	if (guest_sync(req, ino))
		return;
	if (h)
		hold_settled(h);
	if (h && h->kind == H_FILE && h->t.kind == T_NODE && h->kept->writer &&
	    h->kept->changed && !h->t.node->unlinked)
		r = flush(req, h);
	else if (h && h->kind == H_STAGED)
		r = ops_staged_flush(req, h);
	if (r < 0)
		ops_fail(req, ino, NULL, r);
	else
		ops_done(req);
}

struct sync_call {
	int fd;
	bool data;
};

static int do_sync(void *arg)
{
	const struct sync_call *s = arg;

	return (s->data ? fdatasync(s->fd) : fsync(s->fd)) < 0 ? -errno : 0;
}

/* Syncs an open file. The fsync(2) waits, so the handle stays open. */
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
	      struct fuse_file_info *fi)
{
	struct handle *h = ops_handle(req, fi);
	struct sync_call s = { .fd = h ? h->fd : -1, .data = datasync };
	int r = 0;

	if (guest_sync(req, ino))
		return;
	if (h && h->kind == H_FILE && h->kept->writer && h->fd >= 0)
		r = store_do(ops_fsd(req)->store, do_sync, &s);
	if (r < 0 && h->t.kind == T_NODE) {
		ops_hold_job_of(h);
		unsynced_fsync(h->t.node, r);
	}
	if (r < 0)
		ops_fail(req, ino, NULL, r);
	else
		ops_done(req);
}

/* Ends a writer: examines the job, and starts it if it is complete. A close
 * that has failed completes no job; a later one may. */
static void settle(struct handle *h, struct node *node)
{
	struct job *job = job_of_node(node);
	struct fsd *d = h->d;
	uint64_t run;

	/* This may start the job, and only once: the previous server may have
	 * started it. */
	if (job && requests_again(d, &run) && job->meta.run > run)
		return;
	requests_begin(d, job ? job->meta.run : 0);
	/* If a close(2) of this file has succeeded, perhaps under the previous server,
	 * the job may have been accepted: it must find a place in the queue. */
	if (job && h->kept->closer && !h->kept->failed)
		submit_keep_place(job);
	if (!h->kept->failed)
		ops_changed(job_of_node(node),
			    h->kept->changed && !node->writers ? node : NULL);
	job = job_of_node(node);
	if (job &&
	    (!job->accept.by ||
	     job->accept.by == 1 + open_files_fh(d->open_files, h->kept)))
		submit_after_release(job);
}

/* RELEASE: the last close of this open file. */
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = ops_handle(req, fi);
	struct node *node;

	if (guest_sync(req, ino))
		return;
	if (!h) {
		open_files_drop(ops_fsd(req)->open_files, fi->fh);
		ops_done(req);
		return;
	}
	loop_timer_del(&h->doubt);
	if (h->kind == H_STAGED)
		ops_staged_release(h);
	ops_hold_job_of(h);
	node = h->t.kind == T_NODE ? h->t.node : NULL;
	if (node && h->kept->writer) {
		node_writer_end(node);
		if (!node->unlinked && node->area == AREA_FILES)
			settle(h, node);
	}
	ops_handle_free(h);
	ops_done(req);
}
