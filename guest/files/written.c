/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks fanotify which files below the home were closed after writing, and the kernel
 * for a lease to learn whether one is still open for writing. Without fanotify `lost` is
 * true, and files.c compares contents.
 */
#include "written.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "layout/base/cleanup.h"

#define NO_WATCH (-1)

/* The name of a file in tmpfs: its inode's generation and number. */
struct name {
	uint32_t generation, low, high;
};

int inodes_add(struct inodes *s, ino_t inode)
{
	if (s->count == s->size) {
		size_t size = s->size ? 2 * s->size : 16;
		void *list = realloc(s->list, size * sizeof(*s->list));

		if (!list)
			return -ENOMEM;
		s->list = list;
		s->size = size;
	}
	s->list[s->count++] = inode;
	s->sorted = false;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	ino_t x = *(const ino_t *)a, y = *(const ino_t *)b;

	return x < y ? -1 : x > y;
}

bool inodes_has(struct inodes *s, ino_t inode)
{
	if (!s->count)
		return false;
	if (!s->sorted)
		qsort(s->list, s->count, sizeof(*s->list), by_number);
	s->sorted = true;
	return bsearch(&inode, s->list, s->count, sizeof(*s->list), by_number);
}

void inodes_done(struct inodes *s)
{
	free(s->list);
	*s = (struct inodes){0};
}

/* Watches by file handles: the events keep no file open, so a removed file is
 * freed at once. */
static void watch(struct written *w, int dir)
{
	w->fd = fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_CLOEXEC |
			      FAN_NONBLOCK, O_RDONLY | O_CLOEXEC);
	if (w->fd >= 0 &&
	    fanotify_mark(w->fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM,
			  FAN_CLOSE_WRITE, dir, NULL))
		fd_close(&w->fd);
	if (w->fd < 0)
		w->fd = NO_WATCH;
}

void written_watch(struct written *w, int dir)
{
	if (w->fd == 0)
		watch(w, dir);
	else
		written_hear(w);
	w->closed.count = 0;
	w->lost = w->fd == NO_WATCH;
}

/* Handles one event. Events lie at any multiple of 4; info: the bytes after e. Return:
 * false: the event does not tell which file was closed. */
static bool hear(struct written *w, const struct fanotify_event_metadata *e,
		 const void *info)
{
	const struct fanotify_event_info_fid *fid = info;
	const struct file_handle *handle = (const void *)fid->handle;
	struct name name;

	if (e->vers != FANOTIFY_METADATA_VERSION ||
	    e->mask & FAN_Q_OVERFLOW ||
	    e->event_len < sizeof(*e) + sizeof(*fid) + sizeof(*handle) +
				   sizeof(name) ||
	    fid->hdr.info_type != FAN_EVENT_INFO_TYPE_FID ||
	    handle->handle_bytes != sizeof(name))
		return false;
	memcpy(&name, handle->f_handle, sizeof(name));
	return !inodes_add(&w->closed,
			   (ino_t)name.high << 32 | (ino_t)name.low);
}

/* The kernel gives whole events only. */
static void hear_all(struct written *w, const char *events, size_t length)
{
	struct fanotify_event_metadata e;

	for (; length >= sizeof(e); length -= e.event_len) {
		memcpy(&e, events, sizeof(e));
		if (!hear(w, &e, events + sizeof(e)))
			w->lost = true;
		if (e.event_len < sizeof(e) || e.event_len > length)
			return;
		events += e.event_len;
	}
}

void written_hear(struct written *w)
{
	_Alignas(struct fanotify_event_metadata) char events[4096];
	ssize_t n;

	while (w->fd > 0 && (n = read(w->fd, events, sizeof(events))) > 0)
		hear_all(w, events, (size_t)n);
}

bool written_was_closed(struct written *w, ino_t inode)
{
	return inodes_has(&w->closed, inode);
}

/* The lease ends when fd is closed. */
bool written_is_open(int fd)
{
	return fcntl(fd, F_SETLEASE, F_RDLCK) && errno == EAGAIN;
}

void written_done(struct written *w)
{
	if (w->fd > 0)
		close(w->fd);
	w->fd = 0;
	inodes_done(&w->closed);
}
