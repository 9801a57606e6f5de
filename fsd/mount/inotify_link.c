/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the inotify helper, sends it messages, and replaces it when it dies.
 * Owns the helper's socket and pidfd. All functions run on the loop.
 */
#include "inotify_int.h"
#include "vm/os/fdpass.h"
#include "broker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Pause before a new helper; doubles each time. */
#define RESTART_NS (500 * NS_PER_MS)
#define RESTART_MAX_NS (16 * NS_PER_S)
/* A helper that has lived this long resets the pause. */
#define STEADY_NS (10 * NS_PER_S)
/* How long the helper keeps a clone of the mount open without a note. */
#define KEEP_NS (20 * NS_PER_MS)

bool inotify_link_is_up(const struct inotify *n)
{
	return n->sock >= 0;
}

/* --- the mount's root --------------------------------------------------------- */

/* Returns the device of a descriptor on the mount. Other calls, such as fstat(2), would
 * send a request to this thread, which would wait for itself. Return: 0 or negative
 * errno. */
static int device_of(int fd, uint32_t *ret_major, uint32_t *ret_minor)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
		return -errno;
	*ret_major = st.stx_dev_major;
	*ret_minor = st.stx_dev_minor;
	return 0;
}

/* Returns whether the descriptor leads to our mount: it may be gone from the mount point,
 * or have another one above it. */
static bool is_ours(const struct inotify *n, int fd)
{
	uint32_t major, minor;

	return n->knows_dev && device_of(fd, &major, &minor) == 0 &&
	       major == n->dev_major && minor == n->dev_minor;
}

static void learn_device(struct inotify *n)
{
	bool clone;
	auto_close int fd = broker_clone(n->d->broker, &clone);
	int r = fd < 0 ? fd : device_of(fd, &n->dev_major, &n->dev_minor);

	n->knows_dev = r == 0;
	if (r < 0)
		log_warn("%s cannot be opened by fsd itself (%s): watchers "
			 "(inotify) are not told of results",
			 n->d->options->mountpoint, strerror(-r));
}

/* --- messages ------------------------------------------------------------------- */

static int send_message(struct inotify *n, int fd)
{
	ssize_t r = fdpass_send(n->sock, &n->message, sizeof(n->message), &fd,
				fd >= 0, MSG_DONTWAIT);

	/* a dead helper is noticed by its end; the note stays */
	return r >= 0 || r == -EPIPE || r == -ECONNRESET ? 0 : (int)r;
}

static void let_go(struct inotify *n)
{
	loop_timer_del(&n->release);
	if (!n->has_mount || !inotify_link_is_up(n) || n->note)
		return;
	n->has_mount = false;
	n->message = (struct inotify_message){ 0 };
	send_message(n, -1);
}

static void on_release(struct loop_timer *t)
{
	let_go(t->arg);
}

void inotify_link_rest(struct inotify *n)
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
	struct inotify *n = src->arg;
	uint8_t missing;
	ssize_t size = recv(n->sock, &missing, 1, MSG_DONTWAIT);

	(void)events;
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0) {
		loop_fd_del(src); /* the pidfd reports the end of the process, too */
		return;
	}
	inotify_answered(n, !missing);
	inotify_pump(n);
}

/* --- the process ------------------------------------------------------------------ */

/* The helpers' processes, also those of dead servers. */
struct helpers_record {
	uint32_t live;
	int32_t pid[INOTIFY_HELPERS]; /* 0: none */
};

static HANDOVER_TABLE(helpers_records, "notify-helpers", 1, struct helpers_record, 1);

static struct helpers_record *helpers_of(const struct inotify *n)
{
	return handover_fact(n->d->handover, &helpers_records);
}

static void drop_former(struct former *f)
{
	loop_fd_del(&f->src);
	fd_close(&f->pidfd);
	f->pid = 0;
}

static void forget_former(struct inotify *n, struct former *f)
{
	drop_former(f);
	helpers_of(n)->pid[f - n->former] = 0;
}

static void on_former_end(struct loop_fd *src, uint32_t events)
{
	struct inotify *n = src->arg;

	(void)events;
	forget_former(n, container_of(src, struct former, src));
}

/* Remembers a helper that has lost its server. It ends, but a call that it is
 * in may still come to us, and must have no effect. */
static void retire(struct inotify *n, unsigned place, pid_t pid, int pidfd)
{
	struct former *f = &n->former[place];

	*f = (struct former){ .pid = pid, .pidfd = pidfd };
	f->src = (struct loop_fd){ .fd = pidfd, .events = EPOLLIN,
				   .fn = on_former_end, .arg = n };
	if (pidfd < 0 || loop_fd_add(n->d->loop, &f->src) < 0)
		forget_former(n, f);
}

void inotify_link_take_over(struct inotify *n)
{
	struct helpers_record *k = helpers_of(n);

	for (unsigned i = 0; i < INOTIFY_HELPERS; i++)
		if (k->pid[i] > 0)
			retire(n, i, k->pid[i],
			       (int)syscall(SYS_pidfd_open, k->pid[i], 0));
}

bool inotify_link_was(const struct inotify *n, pid_t pid)
{
	for (unsigned i = 0; i < INOTIFY_HELPERS; i++)
		if (n->former[i].pid == pid)
			return true;
	return false;
}

/* Records the helper. If the table is full, it replaces another one. */
static void enter(struct inotify *n)
{
	struct helpers_record *k = helpers_of(n);

	for (unsigned i = 0; i < INOTIFY_HELPERS; i++) {
		n->place = (n->place + 1) % INOTIFY_HELPERS;
		if (!k->pid[n->place])
			break;
	}
	if (n->former[n->place].pid)
		forget_former(n, &n->former[n->place]);
	k->pid[n->place] = n->pid;
	handover_publish(&k->live);
}

static void close_link(struct inotify *n)
{
	loop_fd_del(&n->sock_src);
	loop_fd_del(&n->end_src);
	loop_timer_del(&n->release);
	broker_forget(n->d->broker, &n->asks);
	fd_close(&n->sock);
	n->has_mount = false;
	if (n->pid > 0) /* the helper ends when its socket is closed */
		retire(n, n->place, n->pid, take_fd(&n->pidfd));
	fd_close(&n->pidfd);
	n->pid = 0;
}

static void link_up(struct inotify *n);

static void on_restart(struct loop_timer *t)
{
	link_up(t->arg);
}

static void restart_later(struct inotify *n)
{
	uint64_t lived = now_ns() - n->started_ns;

	n->pause_ns = MIN(MAX(n->pause_ns * 2, RESTART_NS), RESTART_MAX_NS);
	if (lived >= STEADY_NS)
		n->pause_ns = RESTART_NS;
	loop_timer_set(n->d->loop, &n->restart,
		       n->pause_ns - MIN(lived, n->pause_ns));
}

/* Closes the link; the present note waits for a new helper. */
static void lose_link(struct inotify *n, int r)
{
	log_warn("watchers (inotify) are told of job %s later: %s",
		 n->job->meta.name, strerror(-r));
	close_link(n);
	restart_later(n);
}

/* Passes the mount's root on to the helper. */
static void on_clone(struct broker_wait *w, const struct broker_answer *a,
		     const int *fds)
{
	struct inotify *n = w->arg;
	auto_close int fd = a->code < 0 ? a->code : fds[0];
	int r = fd < 0 ? fd : is_ours(n, fd) ? 0 : -ESTALE;

	if (r == 0) {
		n->has_mount = true;
		n->is_clone = a->is_clone;
		r = send_message(n, fd);
	}
	if (r == 0)
		return;
	if (r != -ESTALE)
		lose_link(n, r);
	inotify_not_sent(n, r);
}

int inotify_link_send(struct inotify *n)
{
	int r;

	loop_timer_del(&n->release);
	if (n->has_mount) {
		r = send_message(n, -1);
	} else {
		n->asks = (struct broker_wait){
			.request.op = BROKER_CLONE, .fn = on_clone, .arg = n,
		};
		r = broker_ask_later(n->d->broker, &n->asks);
	}
	if (r < 0)
		lose_link(n, r);
	return r;
}

static void on_end(struct loop_fd *src, uint32_t events)
{
	struct inotify *n = src->arg;

	(void)events;
	log_warn("the helper for watchers (inotify) has ended; another one "
		 "follows");
	close_link(n);
	inotify_lost(n);
	restart_later(n);
}

static int take_helper(struct inotify *n, const struct broker_answer *a,
		       const int *fds)
{
	int r;

	if (a->code < 0)
		return a->code;
	n->sock = fds[0];
	n->pidfd = fds[1];
	n->pid = a->pid;
	enter(n);
	n->sock_src = (struct loop_fd){ .fd = n->sock, .events = EPOLLIN,
					.fn = on_answer, .arg = n };
	n->end_src = (struct loop_fd){ .fd = n->pidfd, .events = EPOLLIN,
				       .fn = on_end, .arg = n };
	r = loop_fd_add(n->d->loop, &n->end_src);
	return r < 0 ? r : loop_fd_add(n->d->loop, &n->sock_src);
}

static void no_helper(struct inotify *n, int r)
{
	log_warn("watchers (inotify) are not told of results for now: %s",
		 strerror(-r));
	close_link(n);
	restart_later(n);
}

static void on_helper(struct broker_wait *w, const struct broker_answer *a,
		      const int *fds)
{
	struct inotify *n = w->arg;
	int r = take_helper(n, a, fds);

	if (r < 0)
		no_helper(n, r);
	else
		inotify_pump(n);
}

static void link_up(struct inotify *n)
{
	int r;

	n->started_ns = now_ns();
	n->asks = (struct broker_wait){
		.request.op = BROKER_INOTIFY, .fn = on_helper, .arg = n,
	};
	r = broker_ask_later(n->d->broker, &n->asks);
	if (r < 0)
		no_helper(n, r);
}

void inotify_link_start(struct inotify *n)
{
	n->restart.fn = on_restart;
	n->release.fn = on_release;
	n->restart.arg = n->release.arg = n;
	learn_device(n);
	if (n->knows_dev)
		link_up(n);
}

void inotify_link_end(struct inotify *n)
{
	loop_timer_del(&n->restart);
	close_link(n);
	for (unsigned i = 0; i < INOTIFY_HELPERS; i++)
		if (n->former[i].pid)
			/* the next server has them in shared memory */
			drop_former(&n->former[i]);
}
