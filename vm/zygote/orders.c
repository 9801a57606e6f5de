/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives orders of the jailer inside a zygote's QEMU, and forks machines. The thread
 * obey_all() owns `said` and `known`; a child gets copies of both.
 *
 * make_child() stops all other threads and calls clone3. be_machine() runs in the child:
 * its only thread enters the jail (jail_child.c), copies the known pages and then
 * restarts the other threads. CLONE_PARENT makes the child the jailer's own.
 */
#include "orders.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "vm/os/fdpass.h"
#include "own_fds.h"
#include "threads.h"
#include "wire.h"

#define FAILED 127

static struct zygote_setup setup; /* constant once QEMU begins */

union said {
	uint32_t what;
	struct zygote_order order;
	struct zygote_pages pages;
};

/* Used by the zygote's thread only; a forked machine has a copy. */
static union said said;
static struct zygote_pages known;

/* --- the forked machine ------------------------------------------------- */

static int place_fds(int fds[ZYGOTE_ORDER_FDS])
{
	static const int places[] = {
		[ZYGOTE_ORDER_ERR] = 2, [ZYGOTE_ORDER_QMP] = ARGV_FD_QMP,
		[ZYGOTE_ORDER_NET] = ARGV_FD_NET,
		[ZYGOTE_ORDER_WIRE] = ARGV_FD_WIRE,
		[ZYGOTE_ORDER_STATUS] = ZYGOTE_FD_CONTROL,
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (dup2(fds[i], places[i]) < 0 || close(fds[i]) < 0)
			return -errno;
	return own_fds_renew();
}

/* Copies the known pages at once: a page fault for each would cost more, most of all while
 * a program waits. If the copying fails, each page is copied at its first write. */
static void copy_known_pages(void)
{
	for (uint32_t i = 0; i < known.count; i++)
		syscall(SYS_madvise, known.range[i].at, known.range[i].bytes,
			MADV_POPULATE_WRITE);
}

/* Runs in the new process. It gives up the capabilities and descriptors of its way into
 * the jail before the machine runs. */
_Noreturn static void be_machine(const struct zygote_order *order, int *fds,
				 unsigned count)
{
	struct jail_child c = {
		.status = fds[ZYGOTE_ORDER_STATUS],
		.landlock = setup.landlock ? ZYGOTE_FD_LANDLOCK : -1,
		.control = -1, .groups.by_itself = true,
		.bounds = order->bounds,
		.filter = { .len = (unsigned short)setup.filter_len,
			    .filter = setup.filter },
	};
	int joined, r;

	while (count > ZYGOTE_ORDER_FDS)
		c.groups.fd[c.groups.count++] = fds[--count];
	joined = jail_child_join(&c.groups);
	r = place_fds(fds);
	if (r == 0)
		c.status = ZYGOTE_FD_CONTROL;
	if (!jail_child_may_go(&c))
		_exit(FAILED);
	prctl(PR_SET_NAME, ZYGOTE_MACHINE_NAME);
	jail_child_must(&c, JAIL_STEP_CGROUP, joined);
	jail_child_must(&c, JAIL_STEP_FDS, r);
	jail_child_enter(&c);
	/* Wait until the control group limits it, before the guest's first
	 * instruction. */
	if (!jail_child_may_go(&c))
		_exit(FAILED);
	close(c.status);
	if (order->copies)
		copy_known_pages();
	if (threads_go_on() < 0)
		_exit(FAILED);
	/* keep this first thread: the kernel sends it the signal that the jailer has
	 * ended */
	for (;;)
		ppoll(NULL, 0, NULL, NULL);
}

/* --- the zygote
 * ---------------------------------------------------------------------- */

static int make_child(const struct zygote_order *order, int *fds,
		      unsigned count, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = order->clone_flags | CLONE_PARENT | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
	};
	int r = threads_stop();
	long pid;

	if (r < 0)
		return r;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		be_machine(order, fds, count);
	return pid < 0 ? -errno : (int)pid;
}

static bool is_pages(ssize_t n)
{
	return n > 0 && said.what == ZYGOTE_PAGES &&
	       said.pages.count <= ZYGOTE_RANGES_MAX &&
	       n == (ssize_t)zygote_pages_size(&said.pages);
}

static void obey(void)
{
	struct zygote_answer answer;
	int fds[ZYGOTE_ORDER_FDS_MAX], pidfd = -1;
	unsigned count;
	ssize_t n = fdpass_receive(ZYGOTE_FD_CONTROL, &said, sizeof(said), fds,
				   ZYGOTE_ORDER_FDS_MAX, &count, 0);

	if (n <= 0)
		_exit(0);
	if (is_pages(n)) {
		memcpy(&known, &said.pages, (size_t)n);
		return;
	}
	answer.pid = n == (ssize_t)sizeof(said.order) &&
				     said.what == ZYGOTE_ORDER &&
				     count >= ZYGOTE_ORDER_FDS ?
			     make_child(&said.order, fds, count, &pidfd) :
			     -EINVAL;
	fdpass_send(ZYGOTE_FD_CONTROL, &answer, sizeof(answer), &pidfd,
		    pidfd >= 0, 0);
	while (count)
		close(fds[--count]);
	if (pidfd >= 0)
		close(pidfd);
}

static void *obey_all(void *arg)
{
	for (;;)
		obey();
	return arg;
}

void orders_begin(int (*create)(pthread_t *, const pthread_attr_t *,
				void *(*)(void *), void *))
{
	unsigned none;
	ssize_t n = fdpass_receive(ZYGOTE_FD_CONTROL, &setup, sizeof(setup),
				   NULL, 0, &none, 0);
	pthread_t thread;
	sigset_t all, old;

	if (n != (ssize_t)sizeof(setup) ||
	    setup.filter_len > ZYGOTE_FILTER_MAX)
		_exit(FAILED);
	/* The thread gets no signal of another process. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	if (create(&thread, NULL, obey_all, NULL))
		_exit(FAILED);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
