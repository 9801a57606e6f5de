/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kqueue(2) made of inotify(7), for the tests of fsd/spool/watch_kqueue.c. inotify says more
 * than kqueue: the events of files in the directory, and all names, are dropped here.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/event.h>
#include <sys/inotify.h>
#include <unistd.h>

#define MASK (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | \
	      IN_MOVE_SELF | IN_ONLYDIR)

int kqueue(void)
{
	return inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

static int add(int kq, const struct kevent *change)
{
	char path[64];

	if (change->filter != EVFILT_VNODE || change->flags != (EV_ADD | EV_CLEAR)) {
		errno = EINVAL;
		return -1;
	}
	if (fcntl((int)change->ident, F_GETFD) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)change->ident);
	return inotify_add_watch(kq, path, MASK) < 0 ? -1 : 0;
}

int kevent(int kq, const struct kevent *changes, int nchanges, struct kevent *events,
	   int nevents, const struct timespec *timeout)
{
	_Alignas(struct inotify_event) char buf[64 * (sizeof(struct inotify_event) +
						       NAME_MAX + 1)];
	int found = 0;

	(void)timeout;
	if (nchanges > 0)
		return add(kq, changes);
	/* EV_CLEAR: all that happened until now is one event */
	while (nevents > 0 && read(kq, buf, sizeof(buf)) > 0)
		found = 1;
	if (found)
		EV_SET(events, 0, EVFILT_VNODE, 0, NOTE_WRITE, 0, 0);
	return found;
}
