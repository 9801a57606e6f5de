/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open standard input of a run ("stdin_open"): a kernel pipe from the writers of
 * stdin.feed to the machine's channel. The pipe has room for 64 KiB, so writers wait if
 * the program does not read. The channel owns the reading end and closes it when the
 * program has closed its input; the run owns the writing end.
 *
 * A run that may outlive this server has a pair of sockets instead. The supervisor has
 * copies of both ends, and one system call both moves and counts bytes, so a server that
 * is killed loses no byte and repeats none (vm/channel/replay.h). All functions run on
 * the loop or in a fiber; none waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fsd/handover/fdstore.h"
#include "vm/channel/mux.h"

#include "run_int.h"

#define FEED_BYTES (64 << 10)

void feed_init(struct run *run)
{
	run->feed.in = -1;
}

/* Called when the pipe has room, or its reading end is closed: the writers must try
 * again. */
static void on_room(struct loop_fd *src, uint32_t events)
{
	struct run *run = src->arg;

	(void)events;
	loop_fd_del(src);
	if (run->job && run->feed.told)
		run->feed.told(run->job);
}

/* Makes the pipe or the sockets; pair[0]: the reading end. Return: 0 or negative errno. */
static int make_pair(struct run *run, int pair[2])
{
	const int half = FEED_BYTES / 2; /* the kernel doubles the value */

	if (!run->vm_job.replay || !run->job)
		return pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0)
		return -errno;
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &half, sizeof(half));
	run->feed.id = run->job->meta.no;
	fdstore_keep(run->d->fdstore, FDSTORE_FEED_IN, run->feed.id, pair[0]);
	fdstore_keep(run->d->fdstore, FDSTORE_FEED_OUT, run->feed.id, pair[1]);
	return 0;
}

void feed_read(struct run *run, uint64_t bytes)
{
	run->feed.read = MAX(run->feed.read, bytes);
	if (run->feed.read >= run->feed.written && run->job && run->feed.told)
		run->feed.told(run->job);
}

int feed_make(struct run *run)
{
	int pair[2], r;

	if (run->feed.in >= 0)
		return take_fd(&run->feed.in);
	r = make_pair(run, pair);
	if (r < 0)
		return r;
	run->feed.pipe.fd = pair[1];
	run->feed.made = true;
	if (run->feed.ended)
		feed_done(run);
	else if (run->job && run->feed.told)
		run->feed.told(run->job);
	return pair[0];
}

static int fetch(struct run *run, enum fdstore_kind kind)
{
	return fdstore_fetch(run->d->fdstore, kind, run->feed.id);
}

/* Return: bytes in the socket that the channel has not received. */
static uint64_t waiting_in(int sock)
{
	int n = 0;

	return sock >= 0 && ioctl(sock, FIONREAD, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

void feed_take(struct run *run, const struct vm_replay *t)
{
	run->feed.id = run->job->meta.no;
	run->feed.in = fetch(run, FDSTORE_FEED_IN);
	run->feed.pipe.fd = t->feed_ended ? -1 : fetch(run, FDSTORE_FEED_OUT);
	run->feed.made = run->feed.pipe.fd >= 0;
	run->feed.read = replay_checkpoint(t)->stdin_acked;
	run->feed.written = MAX(t->feed.put + t->feed.call.msg_len, t->feed.next) +
			    waiting_in(run->feed.in);
	if (!run->feed.made && !t->feed_ended)
		fd_close(&run->feed.in); /* only one end was stored: no byte was written */
	if (run->feed.made)
		fcntl(run->feed.pipe.fd, F_SETFL, O_NONBLOCK);
	/* Without a reading end and without bytes, the input was not made yet. */
	run->feed.ended = t->feed_ended || (run->feed.in < 0 && t->feed.put);
}

void feed_done(struct run *run)
{
	struct vm_replay *t = run->vm_job.replay;

	loop_fd_del(&run->feed.pipe);
	if (t)
		t->feed_ended = 1;
	if (run->feed.made)
		fd_close(&run->feed.pipe.fd);
	if (run->feed.made && run->feed.id)
		fdstore_drop(run->d->fdstore, FDSTORE_FEED_OUT, run->feed.id);
	run->feed.made = false;
	run->feed.ended = true;
}

void feed_free(struct run *run)
{
	feed_done(run);
	fd_close(&run->feed.in);
	if (run->feed.id)
		fdstore_drop(run->d->fdstore, FDSTORE_FEED_IN, run->feed.id);
	run->feed.id = 0;
}

void feed_closed(struct run *run)
{
	feed_free(run);
	if (run->job && run->feed.told)
		run->feed.told(run->job);
}

/* Return: the job's run, if its program runs and has an open standard input; or NULL. */
static struct run *fed(const struct job *job)
{
	return !job->removed && job->meta.state == JOB_RUNNING && job->run &&
			       !run_has_exit(job->run) &&
			       job->run->spec.config->stdin_open
		       ? job->run
		       : NULL;
}

int run_feed_open(const struct job *job)
{
	return fed(job) ? 0 : -ENXIO;
}

/* Writes for the request `unique`. The kernel stores the count in shared memory within the
 * same system call. If this server is killed after that, the next one gets the request
 * again, finds the count, and does not write again. */
static ssize_t write_counted(struct run *run, const void *data, size_t size,
			     uint64_t unique)
{
	struct iovec iov = { (void *)(uintptr_t)data, size };
	struct vm_replay *t = run->vm_job.replay;

	if (unique && t->feed_unique == unique && t->feed_write.msg_len)
		return t->feed_write.msg_len;
	t->feed_write.msg_len = 0;
	ring_in_order();
	t->feed_unique = unique;
	t->feed_write.msg_hdr = (struct msghdr){ .msg_iov = &iov,
						 .msg_iovlen = 1 };
	ring_in_order();
	if (sendmmsg(run->feed.pipe.fd, &t->feed_write, 1,
		     MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return -errno;
	run->feed.written += t->feed_write.msg_len;
	return t->feed_write.msg_len;
}

ssize_t run_feed_write(struct job *job, const void *data, size_t size,
		       uint64_t unique)
{
	struct run *run = fed(job);
	ssize_t n;

	if (!run || run->feed.ended)
		return -EPIPE;
	if (!run->feed.made)
		return -EAGAIN;
	if (run->feed.id && run->vm_job.replay)
		return write_counted(run, data, size, unique);
	n = write(run->feed.pipe.fd, data, size);
	run->feed.written += (uint64_t)MAX(n, 0);
	return n < 0 ? -errno : n;
}

unsigned run_feed_events(struct job *job)
{
	struct run *run = fed(job);
	struct pollfd p = { .fd = -1, .events = POLLOUT };
	unsigned events;

	if (!run || run->feed.ended)
		return POLLOUT | POLLERR;
	events = run->feed.read >= run->feed.written ? POLLPRI : 0;
	if (run->feed.made)
		p.fd = run->feed.pipe.fd;
	if (poll(&p, 1, 0) > 0)
		events |= (unsigned)p.revents & (POLLOUT | POLLERR);
	return events;
}

void run_feed_watch(struct job *job, void (*told)(struct job *job), bool room)
{
	struct run *run = fed(job);

	if (!run)
		return;
	run->feed.told = told;
	if (!room || !run->feed.made || run->feed.pipe.loop)
		return;
	run->feed.pipe.events = EPOLLOUT;
	run->feed.pipe.fn = on_room;
	run->feed.pipe.arg = run;
	if (loop_fd_add(run->d->loop, &run->feed.pipe) < 0)
		feed_done(run); /* no memory: EPIPE, or writers would wait for ever */
}

int run_feed_end(struct job *job)
{
	struct run *run = fed(job);

	if (!run)
		return -ESRCH;
	if (run->feed.made)
		feed_done(run);
	if (run->vm_job.replay)
		run->vm_job.replay->feed_ended = 1;
	run->feed.ended = true;
	if (run->feed.told)
		run->feed.told(job);
	return 0;
}
