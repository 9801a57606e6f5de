/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to an output without waiting for its reader. The nonblocking flag belongs to the
 * open file description, which other processes may share. So a pipe or a terminal is
 * opened a second time with that flag. Where that fails, a write follows only a poll(2)
 * that says yes, and takes no more than PIPE_BUF bytes.
 */
#include "nonblocking_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/layout.h"

/* Another opening of a pseudoterminal's master would be a new terminal. */
static bool is_terminal(int fd)
{
	int number;

	return isatty(fd) && ioctl(fd, TIOCGPTN, &number) < 0;
}

void nonblocking_output_open(struct nonblocking_output *o, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	char path[32];
	struct stat st;

	*o = (struct nonblocking_output){ .fd = fd };
	/* Leave alone: nonblocking by another process, or not open for writing. */
	if (flags < 0 || flags & O_NONBLOCK ||
	    (flags & O_ACCMODE) == O_RDONLY || fstat(fd, &st) < 0)
		return;
	o->socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !is_terminal(fd))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, (flags & (O_ACCMODE | O_DIRECT)) | O_NONBLOCK |
				O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		o->fd = fd;
	o->owned = fd >= 0;
	o->would_wait = fd < 0; /* usually because the terminal is another user's */
}

void nonblocking_output_close(struct nonblocking_output *o)
{
	if (o->owned)
		fd_close(&o->fd);
	*o = (struct nonblocking_output){ .fd = -1 };
}

ssize_t nonblocking_output_write(const struct nonblocking_output *o,
				 const char *data, size_t len)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };
	ssize_t n;

	/* A pipe that can be written takes as much at once. */
	if (o->would_wait && poll(&p, 1, 0) == 0)
		return -EAGAIN;
	if (o->would_wait)
		len = MIN(len, (size_t)PIPE_BUF);
	n = o->socket ? send(o->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL)
		      : write(o->fd, data, len);
	return n < 0 ? -errno : n;
}
