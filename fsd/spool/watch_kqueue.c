/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a directory on FreeBSD, NetBSD and macOS. EVFILT_VNODE says that a name in
 * the directory came or went, and not which one: the directory is then scanned. Changes
 * that another host makes give no event.
 */
#include "watch.h"

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/event.h>
#include <sys/time.h>
#include <unistd.h>

#define FLAGS (NOTE_WRITE | NOTE_EXTEND | NOTE_DELETE | NOTE_RENAME | NOTE_REVOKE)

static int open_events(int dir)
{
	struct kevent change;
	int fd = kqueue();

	if (fd < 0)
		return -errno;
	EV_SET(&change, (uintptr_t)dir, EVFILT_VNODE, EV_ADD | EV_CLEAR, FLAGS, 0, 0);
	if (kevent(fd, &change, 1, NULL, 0, NULL) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

static bool read_events(int fd, watch_fn *fn, void *arg)
{
	const struct timespec at_once = { 0, 0 };
	struct kevent found[4];

	(void)fn;
	(void)arg;
	/* EV_CLEAR: an event is read once */
	return kevent(fd, NULL, 0, found, 4, &at_once) > 0;
}

const struct watch_events watch_system = {
	.open = open_events,
	.read = read_events,
	.is_partial = true,
};
