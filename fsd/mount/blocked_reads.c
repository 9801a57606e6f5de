/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parks reads and writes that cannot be answered yet, and poll handles. After a
 * change of the job a slice of work goes through its parked requests; an
 * interrupt removes one. Owns struct parked. All functions run on the loop.
 */
#include "requests_int.h"
#include "blocked_reads.h"
#include "library.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "fsd/base/fiber.h"
#include "fsd/submit/submit.h"
#include "fsd/jobs/event_log.h"
#include "fsd/run/run.h"

struct parked {
	struct list node; /* link in job->readers.parked */
	struct job *job;  /* a reference */
	fuse_req_t req;   /* answered once */
	struct blocked_read what;
	void *data; /* owned: the bytes of a write, or NULL */
};

/* --- answering ---------------------------------------------------------- */

static bool is_over(const struct job *job)
{
	return job->removed || job->meta.state == JOB_DONE;
}

/* Returns whether the job is refused for good: it cannot start unless a file
 * changes. */
static bool is_refused(const struct job *job)
{
	return job->meta.state == JOB_REFUSED && submit_is_decided(job);
}

/* Copies the line of `exit_code`, from the offset on, to room. Return: number of bytes, or
 * negative errno; -EAGAIN: the job has not ended. */
static int read_wait(struct job *job, const struct blocked_read *what, char *room,
		     size_t size)
{
	char line[16];
	size_t len;

	if (job->removed)
		return -ENOENT;
	if (is_refused(job))
		return -EINVAL;
	if (job->meta.state != JOB_DONE)
		return -EAGAIN;
	len = (size_t)snprintf(line, sizeof(line), "%u\n", job->meta.exit_code);
	if (what->offset >= len)
		return 0;
	len = MIN(len - what->offset, size);
	memcpy(room, line + what->offset, len);
	return (int)len;
}

static int read_follow(struct job *job, const struct blocked_read *what,
		       char *room, size_t size)
{
	enum vm_stream stream =
		what->vfile == JOB_VFILE_STDOUT_FOLLOW ? VM_OUT : VM_ERR;
	int n;

	if (is_refused(job))
		return -EINVAL;
	if (job->removed || (what->run && what->run != job->meta.run))
		return 0; /* the run that it followed is gone */
	n = run_read(job, stream, room, MIN(size, REQUESTS_ROOM), what->offset);
	if (n != 0)
		return n;
	return is_over(job) ? 0 : -EAGAIN;
}

static int try_read(struct job *job, const struct blocked_read *what, char *room,
		    size_t size)
{
	if (job_vfiles[what->vfile].kind == VFILE_WAIT)
		return read_wait(job, what, room, size);
	if (what->vfile == JOB_VFILE_EVENTS)
		return events_read(job, what->events, room, size,
				   what->offset);
	return read_follow(job, what, room, size);
}

enum answer {
	ANSWERED,
	NOT_YET, /* wait for a change */
	GO_ON, /* try again, after other work */
};

static enum answer answer(struct job *job, fuse_req_t req,
			  const struct blocked_read *what)
{
	char *room = job->d->requests->room;
	int n = try_read(job, what, room,
			 MIN(what->size, (size_t)REQUESTS_ROOM));

	if (n == -EINPROGRESS)
		return GO_ON;
	if (n == -EAGAIN && !what->nonblock && !job->removed)
		return NOT_YET;
	if (n > 0 && what->end)
		*what->end = what->offset + (uint64_t)n;
	if (n < 0)
		fuse_reply_err(req, -n);
	else
		fuse_reply_buf(req, room, (size_t)n);
	return ANSWERED;
}

static enum answer answer_write(struct job *job, fuse_req_t req,
				const void *data, const struct blocked_read *what)
{
	ssize_t n = run_feed_write(job, data, what->size,
				   what->unique);

	if (n == -EAGAIN && !what->nonblock) {
		run_feed_watch(job, job_changed, true);
		return NOT_YET;
	}
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
	return ANSWERED;
}

/* --- parked requests ---------------------------------------------------- */

static void parked_free(struct parked *p)
{
	free(p->data);
	list_cursors_leave(&p->job->readers.cursors, &p->node);
	list_del(&p->node);
	job_unref(p->job);
	free(p);
}

static void on_interrupt(fuse_req_t req, void *data)
{
	struct parked *p = data;

	parked_free(p);
	fuse_reply_err(req, EINTR);
}

/* Parks a request. data: bytes of a write, which are copied; or NULL. */
static void park(struct job *job, struct fuse_req *req,
		 const struct blocked_read *what, const void *data)
{
	struct parked *p;

	/*
	 * It may have been interrupted while it waited for a lock. Do not leave
	 * that to on_interrupt(): libfuse would call it inside the call below,
	 * and then use the answered request.
	 */
	if (fuse_req_interrupted(req)) {
		fuse_reply_err(req, EINTR);
		return;
	}
	p = calloc(1, sizeof(*p));
	if (p && data)
		p->data = malloc(what->size);
	if (!p || (data && !p->data)) {
		free(p);
		fuse_reply_err(req, ENOMEM);
		return;
	}
	if (data)
		memcpy(p->data, data, what->size);
	p->job = job_ref(job);
	p->req = req;
	p->what = *what;
	list_add_tail(&job->readers.parked, &p->node);
	fuse_req_interrupt_func(req, on_interrupt, p);
}

void blocked_read(struct job *job, struct fuse_req *req,
		  const struct blocked_read *what)
{
	enum answer first = answer(job, req, what);

	if (first != ANSWERED)
		park(job, req, what, NULL);
	if (first == GO_ON)
		job_changed(job);
}

void blocked_write(struct job *job, struct fuse_req *req, const void *data,
		   size_t size, bool nonblock)
{
	const struct blocked_read what = { .vfile = JOB_VFILE_STDIN_FEED,
					.size = size, .nonblock = nonblock,
					.unique = *fiber_number() };

	if (answer_write(job, req, data, &what) != ANSWERED)
		park(job, req, &what, data);
}

unsigned blocked_poll_events(struct job *job, const struct blocked_read *what)
{
	char byte;
	int n;

	if (what->vfile == JOB_VFILE_STDIN_FEED) {
		unsigned events = run_feed_events(job);

		run_feed_watch(job, job_changed,
			       !(events & (POLLOUT | POLLERR)));
		return events;
	}
	n = try_read(job, what, &byte, 1);
	if (n == -EAGAIN)
		return 0;
	if (n > 0 || n == -EINPROGRESS)
		return POLLIN | POLLRDNORM |
		       (job_vfiles[what->vfile].kind == VFILE_WAIT ? POLLHUP : 0u);
	return POLLIN | POLLRDNORM | POLLHUP | (n < 0 ? POLLERR : 0u);
}

void blocked_poll_drop(struct blocked_poll *p)
{
	list_del(&p->node);
	if (p->ph)
		fuse_pollhandle_destroy(take_ptr(p->ph));
}

void blocked_poll_set(struct job *job, struct blocked_poll *p,
		      struct fuse_pollhandle *ph)
{
	blocked_poll_drop(p);
	p->ph = ph;
	list_add_tail(&job->readers.polls, &p->node);
}

/* Notifies polls. Return: true if there are more. */
static bool tell_polls(struct job *job, uint64_t until)
{
	struct blocked_poll *p;

	while ((p = list_first(&job->readers.polls, struct blocked_poll, node))) {
		fuse_lowlevel_notify_poll(p->ph);
		blocked_poll_drop(p);
		if (now_ns() >= until)
			return true;
	}
	return false;
}

/* Moves a request to the end, to be tried again after the others. */
static void put_off(struct parked *p)
{
	struct job *job = p->job;

	list_del(&p->node);
	list_add_tail(&job->readers.parked, &p->node);
	if (job->readers.kick_at.next == &job->readers.parked)
		list_cursor_back(&job->readers.kick_at);
}

static bool answer_parked(struct job *job, uint64_t until)
{
	struct list *at;

	while (job->readers.kick_at.head && (at = list_cursor_next(&job->readers.kick_at))) {
		struct parked *p = list_entry(at, struct parked, node);
		/* if the request is answered, p is freed */
		enum answer now =
			p->data ? answer_write(p->job, p->req, p->data,
					       &p->what)
				: answer(p->job, p->req, &p->what);

		if (now == ANSWERED)
			parked_free(p);
		else if (now == GO_ON)
			put_off(p);
		if (now_ns() >= until)
			return true;
	}
	list_cursor_end(&job->readers.kick_at);
	return false;
}

static bool on_kick(struct time_slice *t, uint64_t until)
{
	struct job *job = container_of(t, struct job, readers.kick);

	if (answer_parked(job, until) || tell_polls(job, until))
		return true;
	job->readers.kicked = false;
	job_unref(job);
	return false;
}

static void kick(struct job *job)
{
	/* start over: a request passed before may be ready now */
	list_cursor_end(&job->readers.kick_at);
	list_cursor_begin(&job->readers.kick_at, &job->readers.cursors, &job->readers.parked);
	if (job->readers.kicked)
		return;
	job->readers.kicked = true;
	job_ref(job);
	job->readers.kick.work = on_kick;
	time_slice_begin(&job->d->slices, &job->readers.kick);
}

const struct job_watcher blocked_watcher = {
	.changed = kick,
	.removed = kick,
	.unloaded = kick,
};
