/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves bytes between the pipes of a program and the port: output to frames within its
 * limit, STDIN frames to the program within the window. Never blocks.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

/* Bounds one call: a stream must not delay the others, or a KILL. */
#define ROUNDS 8

int stream_pump(struct stream *s, struct port *port)
{
	for (int i = 0; i < ROUNDS && port_has_room(port); i++) {
		uint64_t sent = s->bytes - s->dropped;
		size_t keep, want = WIRE_PAYLOAD_MAX;
		ssize_t n;

		if (s->last)
			want = MIN(want, (size_t)s->rest);
		n = read(s->fd, port_room(port), want);
		if (n < 0) /* with `last` EAGAIN is the end: another process has read
			    * some of the bytes */
			return (errno == EAGAIN && !s->last) || errno == EINTR
				       ? 0
				       : 1;
		if (n == 0)
			return 1;
		s->rest -= s->last ? (int)n : 0;
		keep = MIN((uint64_t)n, s->limit - sent);
		s->bytes += (uint64_t)n;
		s->dropped += (uint64_t)n - keep;
		if (keep)
			port_commit(port, s->type, 0, keep);
	}
	return 0;
}

void stream_last(struct stream *s)
{
	s->last = true;
	if (s->fd >= 0 && ioctl(s->fd, FIONREAD, &s->rest))
		s->rest = 0;
}

int input_open(struct input_stream *in, int fd)
{
	*in = (struct input_stream){.fd = fd, .rest = -1, .file = -1};
	in->bytes = malloc(WIRE_STDIN_WINDOW);
	return in->bytes ? 0 : -ENOMEM;
}

/*
 * The sender keeps the bytes that the program has not read, so the host must
 * know how many it has read. A pipe reports to its writer only that it has
 * room. A pipe of one page has room only when its reader has read all of it.
 *
 * After reading a whole window a program is expected to read on. It gets a
 * larger pipe, which needs fewer turns. That pipe must be smaller than the
 * window, since its last bytes are acknowledged only with the next ones, or at
 * the end.
 */
#define PAGE 4096
#define WIDE_PIPE (WIRE_STDIN_WINDOW / 2)

int input_add(struct input_stream *in, const void *data, size_t length)
{
	if (in->ended || length > WIRE_STDIN_WINDOW - (in->end - in->at))
		return -EPROTO;
	memmove(in->bytes, in->bytes + in->at, in->end - in->at);
	in->end -= in->at;
	in->at = 0;
	memcpy(in->bytes + in->end, data, length);
	in->end += (uint32_t)length;
	return 0;
}

/* Closes the write end, so that the program finds the end of its input. Keeps
 * the read end, to count unread bytes. */
static void close_all_read(struct input_stream *in)
{
	char path[32];

	if (!in->ended || input_is_pending(in) || in->fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", in->fd);
	if (!in->quiet && in->read < in->put)
		in->rest = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	fd_close(&in->fd);
}

void input_end(struct input_stream *in)
{
	in->ended = true;
	close_all_read(in);
}

bool input_is_pending(const struct input_stream *in)
{
	return in->at < in->end || (in->quiet && in->file >= 0);
}

int input_from(struct input_stream *in, const char *path)
{
	in->file = open(path, O_RDONLY | O_CLOEXEC);
	in->quiet = true;
	return in->file < 0 ? -errno : 0;
}

static void refill(struct input_stream *in)
{
	ssize_t n;

	if (!in->quiet || in->file < 0 || in->at < in->end)
		return;
	n = in->fd < 0 ? 0 : read(in->file, in->bytes, WIRE_STDIN_WINDOW);
	in->at = 0;
	in->end = n > 0 ? (uint32_t)n : 0;
	if (n > 0)
		return;
	fd_close(&in->file);
	input_end(in);
}

static void acknowledge(struct input_stream *in, struct port *port,
			uint64_t length, bool closed)
{
	uint8_t bytes[4];
	struct wire_writer w = {bytes, sizeof(bytes), 0};

	if (in->quiet)
		return;
	wire_put_u32(&w, (uint32_t)length);
	port_send(port, WIRE_STDIN_ACK, closed, bytes, sizeof(bytes));
}

void input_report(struct input_stream *in, struct port *port)
{
	int fd = in->fd >= 0 ? in->fd : in->rest, unread = 0;
	uint64_t read;

	if (in->quiet || in->read == in->put || ioctl(fd, FIONREAD, &unread))
		return;
	/* More may be unread than was put: the program may itself write into the pipe. */
	read = in->put - MIN((uint64_t)unread, in->put);
	if (read <= in->read)
		return;
	acknowledge(in, port, read - in->read, false);
	in->read = read;
	if (in->narrow && read >= WIRE_STDIN_WINDOW) {
		in->narrow = false;
		fcntl(in->fd, F_SETPIPE_SZ, WIDE_PIPE);
	}
}

/* Writes to the pipe. Return: false: no process can read it any more. */
static bool put(struct input_stream *in)
{
	struct pollfd p = {.fd = in->fd, .events = POLLOUT};
	ssize_t n;

	if (in->at == in->end)
		return !in->narrow || poll(&p, 1, 0) <= 0 ||
		       !(p.revents & POLLERR);
	if (!in->put && !in->quiet)
		in->narrow = fcntl(in->fd, F_SETPIPE_SZ, PAGE) == PAGE;
	n = write(in->fd, in->bytes + in->at, in->end - in->at);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	in->at += (uint32_t)n;
	in->put += (uint64_t)n;
	return true;
}

/* Stops polling for one page if the program itself has enlarged the pipe: such
 * a pipe always has room, and the poll would never wait. */
static void check_narrow(struct input_stream *in, struct port *port)
{
	struct pollfd p = {.fd = in->fd, .events = POLLOUT};

	if (!in->narrow || in->read == in->put || poll(&p, 1, 0) <= 0 ||
	    p.revents != POLLOUT)
		return;
	input_report(in, port);
	if (in->read < in->put)
		in->narrow = false;
}

/* Drops all that the program has not read. The host may still send its window. */
static void close_pipe(struct input_stream *in, struct port *port)
{
	input_report(in, port);
	fd_close(&in->fd);
	acknowledge(in, port, in->put - in->read + in->end - in->at, true);
	in->read = in->put;
	in->at = in->end;
}

bool input_is_awaited(const struct input_stream *in)
{
	return in->fd >= 0 &&
	       (input_is_pending(in) || (in->narrow && in->read < in->put));
}

void input_pump(struct input_stream *in, struct port *port)
{
	refill(in);
	if (!port_can_answer(port))
		return;
	if (in->fd < 0) {
		if (in->at < in->end)
			acknowledge(in, port, in->end - in->at, true);
		in->at = in->end;
	} else if (put(in)) {
		input_report(in, port);
		check_narrow(in, port);
	} else {
		close_pipe(in, port);
	}
	close_all_read(in);
}

void input_reset(struct input_stream *in)
{
	fd_close(&in->fd);
	fd_close(&in->rest);
	if (in->quiet)
		fd_close(&in->file);
	*in = (struct input_stream){
		.fd = -1, .rest = -1, .file = -1, .bytes = in->bytes,
	};
}
