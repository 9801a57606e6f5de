/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends descriptors of sockets to the supervisor, and fetches those that a previous server
 * has sent.
 *
 * A burst of messages may fill the socket until the kernel runs the supervisor. The server
 * then waits PATIENCE_MS, but not again before a message has got through. A message that
 * the supervisor does not take is lost. fdstore_fetch() blocks for the supervisor's
 * answer; it is used only while a server takes over. All functions run on the loop.
 */
#include "fdstore.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "vm/os/fdpass.h"

#define PATIENCE_MS 100

struct fdstore {
	int control;   /* borrowed */
	bool fetching; /* fdstore_sweep() was not called yet */
	bool deaf;     /* the supervisor did not take the last message */
};

int fdstore_new(int control, struct fdstore **ret)
{
	struct fdstore *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->control = control;
	s->fetching = true;
	*ret = s;
	return 0;
}

void fdstore_free(struct fdstore *s)
{
	free(s);
}

static int tell(struct fdstore *s, enum fdstore_call what, uint64_t kind, uint64_t id,
		int fd)
{
	const struct fdstore_message m = { what, { kind, id } };
	struct pollfd p = { .fd = s->control, .events = POLLOUT };
	ssize_t n;

	n = fdpass_send(s->control, &m, sizeof(m), &fd, fd >= 0, MSG_DONTWAIT);
	if (n == -EAGAIN && !s->deaf && poll(&p, 1, PATIENCE_MS) > 0)
		n = fdpass_send(s->control, &m, sizeof(m), &fd, fd >= 0,
				MSG_DONTWAIT);
	if (n < 0 && !s->deaf)
		log_warn("the supervisor does not take what another server is to have: "
			 "%s", strerror((int)-n));
	s->deaf = n < 0;
	return (int)MIN(n, 0);
}

void fdstore_keep(struct fdstore *s, enum fdstore_kind kind, uint64_t id, int fd)
{
	if (s)
		tell(s, FDSTORE_KEEP, kind, id, fd);
}

void fdstore_drop(struct fdstore *s, enum fdstore_kind kind, uint64_t id)
{
	if (s)
		tell(s, FDSTORE_DROP, kind, id, -1);
}

/* True if fd is a socket. A compromised server may have stored any descriptor, and a wait
 * for another kind might never end. */
static bool is_socket(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

int fdstore_fetch(struct fdstore *s, enum fdstore_kind kind, uint64_t id)
{
	struct pollfd p = { .fd = s ? s->control : -1, .events = POLLIN };
	struct fdstore_entry e = { 0 };
	unsigned count = 0;
	int fd = -1;

	if (!s || !s->fetching || tell(s, FDSTORE_FETCH, kind, id, -1) < 0)
		return -1;
	while (poll(&p, 1, -1) < 0)
		if (errno != EINTR)
			return -1;
	if (fdpass_receive(s->control, &e, sizeof(e), &fd, 1, &count, 0) == sizeof(e) &&
	    e.kind == kind && e.id == id && is_socket(fd))
		return fd;
	fd_close(&fd);
	return -1;
}

void fdstore_sweep(struct fdstore *s)
{
	if (s)
		tell(s, FDSTORE_SWEEP, 0, 0, -1);
	if (s)
		s->fetching = false;
}
