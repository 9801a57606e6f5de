/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a directory on Linux. inotify(7) says which name a rename brought; a file
 * that is copied makes one event at its begin and one when its writer closes it, a hard link
 * only the first. When its queue was full, or when the directory itself is gone, the
 * directory is scanned.
 */
#include "watch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "layout/layout.h"
#include "fsd/local/remote.h"

#define MASK (IN_CREATE | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_TO | IN_MOVED_FROM | \
	      IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define READ_SIZE (64 * (sizeof(struct inotify_event) + NAME_MAX + 1))

static int open_events(int dir)
{
	char path[64];
	int fd;

	if (is_remote(dir))
		return -EREMOTE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (inotify_add_watch(fd, path, MASK) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

/* Calls fn for one event. Return: true if the directory must be scanned. */
static bool pass_on(const struct inotify_event *ev, watch_fn *fn, void *arg)
{
	if (!ev->len) /* lost events, or of the directory itself */
		return !(ev->mask & IN_ATTRIB);
	if (ev->mask & IN_MOVED_TO)
		fn(arg, ev->name, WATCH_RENAMED);
	else if (ev->mask & (IN_MOVED_FROM | IN_DELETE))
		fn(arg, ev->name, WATCH_REMOVED);
	else
		fn(arg, ev->name, WATCH_CHANGED);
	return false;
}

static bool read_events(int fd, watch_fn *fn, void *arg)
{
	_Alignas(struct inotify_event) char buf[READ_SIZE];
	bool scan = false;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *ev = (const void *)p;

			scan = pass_on(ev, fn, arg) || scan;
			p += sizeof(*ev) + ev->len;
		}
	}
	return scan;
}

const struct watch_events watch_system = {
	.open = open_events,
	.read = read_events,
};
