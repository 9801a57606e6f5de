/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records QEMU's event, signal and epoll descriptors, and replaces each by a new one in
 * a child. The tables are static, because the preloaded functions have no context
 * argument.
 *
 * own_fds_event(), _signal() and _poll() run on any thread of QEMU. own_fds_renew() runs
 * in the child of a fork, on its only thread.
 */
#include "own_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FD_MAX 256 /* RLIMIT_NOFILE of a machine */
#define KERNEL_SIGSET 8 /* bytes */

enum kind { NONE, EVENT, SIGNAL, POLL };

static enum kind kinds[FD_MAX]; /* the kind of each descriptor */
static sigset_t masks[FD_MAX];

static void note(int fd, enum kind kind)
{
	if (fd >= 0 && fd < FD_MAX)
		__atomic_store_n(&kinds[fd], kind, __ATOMIC_SEQ_CST);
}

void own_fds_event(int fd)
{
	note(fd, EVENT);
}

void own_fds_signal(int fd, const sigset_t *mask)
{
	if (fd >= 0 && fd < FD_MAX)
		masks[fd] = *mask;
	note(fd, SIGNAL);
}

void own_fds_poll(int fd)
{
	note(fd, POLL);
}

/* Makes a new descriptor of the kind of `like`. flags: O_NONBLOCK and O_CLOEXEC
 * have the same value for all three kinds. */
static int make(int like, int flags)
{
	switch (kinds[like]) {
	case EVENT:
		/*
		 * Do not read the old count: that would take it from the parent
		 * and the siblings. The new one starts at 1, so its reader may
		 * wake once without need.
		 */
		return (int)syscall(SYS_eventfd2, 1, flags);
	case SIGNAL:
		return (int)syscall(SYS_signalfd4, -1, &masks[like],
				    KERNEL_SIGSET, flags);
	case POLL:
		return (int)syscall(SYS_epoll_create1, O_CLOEXEC);
	case NONE:
		break;
	}
	errno = EINVAL;
	return -1;
}

static int renew(int fd)
{
	int flags = fcntl(fd, F_GETFL), fresh;

	if (flags < 0)
		return errno == EBADF ? 0 : -errno;
	fresh = make(fd, (flags & O_NONBLOCK) | O_CLOEXEC);
	if (fresh < 0 || dup2(fresh, fd) < 0)
		return -errno;
	close(fresh);
	return 0;
}

int own_fds_renew(void)
{
	int r = 0;

	for (int fd = 0; r == 0 && fd < FD_MAX; fd++)
		if (kinds[fd] != NONE)
			r = renew(fd);
	return r;
}
