/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read and poll of open files: from the disk, from texts, or blocking until
 * there is more. All functions run on the loop, in a fiber that may wait.
 */
#include "ops_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "fsd/store/store_io.h"
#include "handle_table.h"
#include "ops_refusal.h"
#include "ops_guest.h"
#include "ops_sandbox.h"
#include "fsd/mount/requests.h"
#include "fsd/run/run.h"

#define READ_MAX OPEN_FILES_ROOM

static void reply_text(fuse_req_t req, struct handle *h, size_t size, off_t off)
{
	int r = 0;

	if (off == 0 && ops_sandbox_is(&h->t))
		r = ops_sandbox_text(h);
	if (off == 0 && h->t.kind == T_VFILE) {
		r = ops_vfile_text(h);
		h->kept->seen = (int)h->t.job->meta.state;
	}
	if (r < 0)
		ops_fail(req, ops_ino(&h->t), NULL, r);
	else if ((size_t)off >= h->text.len)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, h->text.data + off,
			       MIN(size, h->text.len - (size_t)off));
}

static uint64_t stream_left(const struct handle *h, off_t off)
{
	uint64_t size = run_stream_size(h->t.job, h->t.vfile == JOB_VFILE_STDOUT
							  ? VM_OUT : VM_ERR);

	return size - MIN((uint64_t)off, size);
}

/* Reads on a worker thread. The read(2) waits, so the handle stays open. */
static void reply_from_disk(fuse_req_t req, struct handle *h, size_t size,
			    off_t off)
{
	auto_free char *room = malloc(size);
	ssize_t n = room ? call_read(ops_fsd(req)->store, h->fd, room, size,
				     off)
			 : -ENOMEM;

	if (n < 0)
		ops_fail(req, ops_ino(&h->t), NULL, (int)n);
	else
		fuse_reply_buf(req, room, (size_t)n);
}

static void reply_file(fuse_req_t req, struct handle *h, size_t size, off_t off)
{
	char *room = open_files_room(h->d->open_files);
	ssize_t n = 0;

	size = MIN(size, READ_MAX);
	/* Read no more of a growing stream than stat(2) reports. */
	if (h->kept->run && h->t.job->run && h->kept->run == h->t.job->meta.run)
		size = (size_t)MIN(size, stream_left(h, off));
	if (h->t.kind == T_VFILE && h->t.vfile == JOB_VFILE_LOG)
		job_log_flush(h->t.job);
	if (h->fd >= 0)
		n = call_read_now(h->fd, room, size, off);
	if (n == -EAGAIN)
		reply_from_disk(req, h, size, off);
	else if (n < 0)
		ops_fail(req, ops_ino(&h->t), NULL, (int)n);
	else
		fuse_reply_buf(req, room, (size_t)n);
}

static struct blocked_read wait_what(struct handle *h, size_t size, uint64_t off,
				     int flags)
{
	if (!h->kept->run && h->t.job->run)
		h->kept->run = h->t.job->meta.run;
	return (struct blocked_read){
		.vfile = h->t.vfile, .run = h->kept->run, .offset = off, .size = size,
		.nonblock = flags & O_NONBLOCK, .end = &h->kept->end,
		.events = h->events,
	};
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	     struct fuse_file_info *fi)
{
	struct handle *h = ops_handle(req, fi);
	struct blocked_read what;

	if (guest_read(req, ino, size, off))
		return;
	if (!h) {
		ops_answer(req, -ESTALE);
		return;
	}
	switch (h->kind) {
	case H_FILE:
		reply_file(req, h, size, off);
		return;
	case H_TEXT:
		reply_text(req, h, size, off);
		return;
	case H_STAGED:
		ops_staged_read(req, h, size, off);
		return;
	case H_WAIT:
		what = wait_what(h, size, (uint64_t)off, fi->flags);
		blocked_read(h->t.job, req, &what);
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
	struct blocked_read what;

	if (guest_poll(req, ino, ph))
		return;
	if (!h) {
		if (ph)
			fuse_pollhandle_destroy(ph);
		fuse_reply_poll(req, POLLERR);
		return;
	}
	if (h->kind == H_TEXT && ops_sandbox_is(&h->t)) {
		fuse_reply_poll(req, ops_sandbox_poll(h, ph));
		return;
	}
	if (h->kind == H_WAIT || h->kind == H_FEED) {
		what = wait_what(h, 1, h->kept->end, 0);
		events = blocked_poll_events(h->t.job, &what);
	} else if (h->kind == H_TEXT && h->t.kind == T_VFILE &&
		   /* like sysfs: readable when changed or gone */
		   h->t.vfile == JOB_VFILE_STATE) {
		events = h->kept->seen == (int)h->t.job->meta.state &&
					 !h->t.job->removed
				 ? 0
				 : POLLIN | POLLRDNORM | POLLPRI;
	}
	if (ph && h->t.job) {
		h->kept->poll = requests_poll(ops_fsd(req));
		blocked_poll_set(h->t.job, &h->poll, ph);
	} else if (ph) {
		fuse_pollhandle_destroy(ph);
	}
	fuse_reply_poll(req, events);
}
