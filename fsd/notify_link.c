/* SPDX-License-Identifier: Apache-2.0 */
/* The helper as a process, and the socket to it. */
#include "notify_int.h"
#include "../vm/fdpass.h"
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whoever kills it gets a new one after so long, and twice that each time, */
#define RESTART_NS (500 * NS_PER_MS)
#define RESTART_MAX_NS (16 * NS_PER_S)
/* until one has lived for so long. */
#define STEADY_NS (10 * NS_PER_S)
/* A clone of the mount is kept for so long when there is nothing to tell. */
#define KEEP_NS (20 * NS_PER_MS)

bool notify_link_is_up(const struct notify *n)
{
	return n->sock >= 0;
}

/* --- the mount's root --------------------------------------------------------- */

/*
 * Of a descriptor on the mount; asks the kernel for nothing else, for any other
 * question would come back to this thread. Return: 0 or negative errno.
 */
static int device_of(int fd, uint32_t *ret_major, uint32_t *ret_minor)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
		return -errno;
	*ret_major = st.stx_dev_major;
	*ret_minor = st.stx_dev_minor;
	return 0;
}

/* The mount point may have lost our mount, or have another one above it. */
static int open_ours(const struct notify *n, bool *ret_clone)
{
	auto_close int fd = keeper_clone(n->d->keeper, ret_clone);
	uint32_t major, minor;

	if (fd < 0)
		return fd;
	if (!n->knows_dev || device_of(fd, &major, &minor) < 0 ||
	    major != n->dev_major || minor != n->dev_minor)
		return -ESTALE;
	return take_fd(&fd);
}

static void learn_device(struct notify *n)
{
	bool clone;
	auto_close int fd = keeper_clone(n->d->keeper, &clone);

	n->knows_dev = fd >= 0 &&
		       device_of(fd, &n->dev_major, &n->dev_minor) == 0;
	if (!n->knows_dev)
		log_warn("%s cannot be opened by fsd itself: watchers "
			 "(inotify) are not told of results",
			 n->d->options->mountpoint);
}

/* --- messages ------------------------------------------------------------------- */

static int send_message(struct notify *n, int fd)
{
	ssize_t r = fdpass_send(n->sock, &n->message, sizeof(n->message), &fd,
				fd >= 0, MSG_DONTWAIT);

	/* A dead one is noticed by its end, and what it was told kept. */
	return r >= 0 || r == -EPIPE || r == -ECONNRESET ? 0 : (int)r;
}

static void let_go(struct notify *n)
{
	loop_timer_del(&n->release);
	if (!n->has_mount || !notify_link_is_up(n) || n->note)
		return;
	n->has_mount = false;
	n->message = (struct notify_message){ 0 };
	send_message(n, -1);
}

static void on_release(struct loop_timer *t)
{
	let_go(t->arg);
}

void notify_link_rest(struct notify *n)
{
	if (!n->has_mount)
		return;
	if (n->is_clone)
		loop_timer_set(n->d->loop, &n->release, KEEP_NS);
	else
		let_go(n);
}

static void on_answer(struct loop_fd *src, uint32_t events)
{
	struct notify *n = src->arg;
	uint8_t missing;
	ssize_t size = recv(n->sock, &missing, 1, MSG_DONTWAIT);

	(void)events;
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0) {
		loop_fd_del(src); /* its end will be told, too */
		return;
	}
	notify_answered(n, !missing);
	notify_pump(n);
}

/* --- the process ------------------------------------------------------------------ */

static void close_link(struct notify *n)
{
	loop_fd_del(&n->sock_src);
	loop_fd_del(&n->end_src);
	loop_timer_del(&n->release);
	fd_close(&n->sock);
	n->has_mount = false;
	fd_close(&n->pidfd); /* without its socket it ends */
	n->pid = 0;
}

static void link_up(struct notify *n);

static void on_restart(struct loop_timer *t)
{
	link_up(t->arg);
}

static void restart_later(struct notify *n)
{
	uint64_t lived = now_ns() - n->started_ns;

	n->pause_ns = MIN(MAX(n->pause_ns * 2, RESTART_NS), RESTART_MAX_NS);
	if (lived >= STEADY_NS)
		n->pause_ns = RESTART_NS;
	loop_timer_set(n->d->loop, &n->restart,
		       n->pause_ns - MIN(lived, n->pause_ns));
}

static int send_note(struct notify *n)
{
	auto_close int fd = -1;

	if (!n->has_mount) {
		fd = open_ours(n, &n->is_clone);
		if (fd < 0)
			return fd;
		n->has_mount = true;
	}
	return send_message(n, fd);
}

int notify_link_send(struct notify *n)
{
	int r;

	loop_timer_del(&n->release);
	r = send_note(n);
	if (r == 0 || r == -ESTALE)
		return r;
	log_warn("watchers (inotify) are told of job %s later: %s",
		 n->job->meta.name, strerror(-r));
	close_link(n);
	restart_later(n);
	return r;
}

static void on_end(struct loop_fd *src, uint32_t events)
{
	struct notify *n = src->arg;

	(void)events;
	log_warn("the helper for watchers (inotify) has ended; another one "
		 "follows");
	close_link(n);
	notify_lost(n);
	restart_later(n);
}

static int start_helper(struct notify *n)
{
	int r = keeper_notify(n->d->keeper, &n->sock, &n->pidfd,
			      &n->pid);

	if (r < 0)
		return r;
	n->sock_src = (struct loop_fd){ .fd = n->sock, .events = EPOLLIN,
					.fn = on_answer, .arg = n };
	n->end_src = (struct loop_fd){ .fd = n->pidfd, .events = EPOLLIN,
				       .fn = on_end, .arg = n };
	r = loop_fd_add(n->d->loop, &n->end_src);
	return r < 0 ? r : loop_fd_add(n->d->loop, &n->sock_src);
}

static void link_up(struct notify *n)
{
	int r;

	n->started_ns = now_ns();
	r = start_helper(n);
	if (r < 0) {
		log_warn("watchers (inotify) are not told of results for now: "
			 "%s", strerror(-r));
		close_link(n);
		restart_later(n);
		return;
	}
	notify_pump(n);
}

void notify_link_start(struct notify *n)
{
	n->restart.fn = on_restart;
	n->release.fn = on_release;
	n->restart.arg = n->release.arg = n;
	learn_device(n);
	if (n->knows_dev)
		link_up(n);
}

void notify_link_end(struct notify *n)
{
	loop_timer_del(&n->restart);
	close_link(n);
}
