/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends descriptors to the supervisor and asks for those of the server before. A struct
 * fdstore owns `late`: drops that the supervisor's full socket did not take.
 *
 * A timer sends them again, and fdstore_keep() does so first: a late drop could remove
 * what was stored since. fdstore_fetch() blocks for the supervisor's answer; it is used only
 * while a server takes over. All functions run on the loop.
 */
#include "fdstore.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "vm/os/fdpass.h"
#include "vm/os/loop.h"

/* The supervisor only reads this socket, so the socket is full until the kernel runs the
 * supervisor. A supervisor that does not run within this time is waited for once. */
#define PATIENCE_MS 100
#define AGAIN_NS (100 * NS_PER_MS)

struct fdstore {
	struct loop *loop; /* borrowed */
	int control;       /* borrowed */
	bool fetching;     /* the server before may have left something */
	bool deaf;         /* the supervisor did not take the last message */
	struct dropped {
		uint32_t kind;
		uint64_t id;
	} *late; /* owned: drops that the supervisor has not received; their order
		    does not matter */
	size_t count, size;
	struct loop_timer again;
};

static void on_again(struct loop_timer *t);

int fdstore_new(struct loop *loop, int control, struct fdstore **ret)
{
	struct fdstore *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->control = control;
	s->fetching = true;
	s->again.fn = on_again;
	s->again.arg = s;
	*ret = s;
	return 0;
}

void fdstore_free(struct fdstore *s)
{
	if (!s)
		return;
	loop_timer_del(&s->again);
	free(s->late);
	free(s);
}

static int tell(const struct fdstore *s, uint64_t what,
		const struct fdstore_entry *entry, int fd, int patience_ms)
{
	struct fdstore_message m = { .what = what, .entry = *entry };
	struct pollfd p = { .fd = s->control, .events = POLLOUT };
	ssize_t n;

	n = fdpass_send(s->control, &m, sizeof(m), &fd, fd >= 0, MSG_DONTWAIT);
	if (n == -EAGAIN && patience_ms && poll(&p, 1, patience_ms) > 0)
		n = fdpass_send(s->control, &m, sizeof(m), &fd, fd >= 0,
				MSG_DONTWAIT);
	return (int)MIN(n, 0);
}

static int tell_dropped(const struct fdstore *s, uint32_t kind, uint64_t id)
{
	struct fdstore_entry e = { .kind = kind, .id = id };

	return tell(s, FDSTORE_DROP, &e, -1, 0);
}

/* Return: 0, or -EAGAIN: there are more. */
static int tell_late(struct fdstore *s)
{
	int r = 0;

	while (s->count && r != -EAGAIN) {
		const struct dropped *l = &s->late[s->count - 1];

		r = tell_dropped(s, l->kind, l->id);
		if (r != -EAGAIN)
			s->count--;
	}
	return s->count ? -EAGAIN : 0;
}

static void on_again(struct loop_timer *t)
{
	struct fdstore *s = t->arg;

	if (tell_late(s) < 0)
		loop_timer_set(s->loop, &s->again, AGAIN_NS);
}

int fdstore_keep(struct fdstore *s, const struct fdstore_entry *entry, int fd)
{
	/* One that is dropped may be this one, that was kept before. */
	int r = s ? tell_late(s) : -ENOTSUP;

	if (!s)
		return r;
	if (r == 0)
		r = tell(s, FDSTORE_KEEP, entry, fd, s->deaf ? 0 : PATIENCE_MS);
	if (r < 0 && !s->deaf)
		log_warn("the holder does not take what is to outlive this "
			 "process: %s", strerror(-r));
	s->deaf = r < 0;
	return r;
}

/* Without memory it goes when another server takes over. */
static void drop_later(struct fdstore *s, uint32_t kind, uint64_t id)
{
	size_t size = s->size ? s->size * 2 : 64;
	struct dropped *bigger;

	if (s->count == s->size) {
		bigger = realloc(s->late, size * sizeof(*bigger));
		if (!bigger)
			return;
		s->late = bigger;
		s->size = size;
	}
	s->late[s->count++] = (struct dropped){ kind, id };
	if (!s->again.loop)
		loop_timer_set(s->loop, &s->again, AGAIN_NS);
}

void fdstore_drop(struct fdstore *s, enum fdstore_kind kind, uint64_t id)
{
	if (s && tell_dropped(s, kind, id) == -EAGAIN)
		drop_later(s, kind, id);
}

void fdstore_keep_rows(struct fdstore *s, const struct list *rows,
		       const struct fdstore_entry *of)
{
	struct fdstore_entry e = *of;

	e.kind = FDSTORE_VFILE;
	list_for_each(pos, tmp, rows) {
		struct fdstore_vfile *row =
			list_entry(pos, struct fdstore_vfile, node);

		e.id = row->id;
		if (!row->stored)
			row->stored = fdstore_keep(s, &e, row->fd) == 0;
	}
}

void fdstore_vfile_closed(struct fdstore *s, struct fdstore_vfile *row)
{
	list_del(&row->node);
	if (row->stored)
		fdstore_drop(s, FDSTORE_VFILE, row->id);
}

/* The server that stored it may have been compromised. A descriptor of another type, such
 * as a pipe, could block this server. */
static bool is_such(enum fdstore_kind kind, int fd)
{
	struct stat st;

	return fd < 0 || (fstat(fd, &st) == 0 &&
			  (st.st_mode & S_IFMT) ==
				  (kind >= FDSTORE_SOCKET ? S_IFSOCK : S_IFREG));
}

int fdstore_fetch(struct fdstore *s, enum fdstore_kind kind, uint64_t id,
		  struct fdstore_entry *ret, int *ret_fd)
{
	struct fdstore_entry wanted = { .kind = kind, .id = id };
	struct pollfd p = { .fd = s ? s->control : -1, .events = POLLIN };
	unsigned count = 0;
	ssize_t n;

	*ret_fd = -1;
	if (!s || !s->fetching)
		return -ENOENT;
	n = tell(s, FDSTORE_FETCH, &wanted, -1, -1);
	if (n == 0 && poll(&p, 1, -1) < 0)
		n = -errno;
	if (n == 0)
		n = fdpass_receive(s->control, ret, sizeof(*ret), ret_fd, 1,
				   &count, 0);
	if (n == sizeof(*ret) && ret->kind == (uint32_t)kind && ret->id == id &&
	    is_such(kind, *ret_fd))
		return 0;
	fd_close(ret_fd);
	return -ENOENT;
}

void fdstore_sweep(struct fdstore *s)
{
	struct fdstore_entry none = { 0 };

	if (s)
		tell(s, FDSTORE_SWEEP, &none, -1, -1);
	if (s)
		s->fetching = false;
}
