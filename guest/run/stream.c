/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves bytes between the pipes of a program and the port: output to frames within its
 * limit, STDIN frames to the program within the window. Never blocks.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

/* One stream must not keep the others, or a KILL, waiting. */
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
		if (n < 0) /* of the last, others may have read some */
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
	*in = (struct input_stream){.fd = fd, .file = -1};
	in->bytes = malloc(WIRE_STDIN_WINDOW);
	return in->bytes ? 0 : -ENOMEM;
}

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

void input_end(struct input_stream *in)
{
	in->ended = true;
	if (!input_is_pending(in))
		fd_close(&in->fd);
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
			uint32_t length, bool closed)
{
	uint8_t bytes[4];
	struct wire_writer w = {bytes, sizeof(bytes), 0};

	in->at += length;
	if (in->quiet)
		return;
	wire_put_u32(&w, length);
	port_send(port, WIRE_STDIN_ACK, closed, bytes, sizeof(bytes));
}

void input_pump(struct input_stream *in, struct port *port)
{
	uint32_t length;
	ssize_t n = -1;

	refill(in);
	length = in->end - in->at;
	if (!length || !port_can_answer(port))
		return;
	if (in->fd >= 0) {
		n = write(in->fd, in->bytes + in->at, length);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
	}
	if (n < 0)
		fd_close(&in->fd); /* EPIPE: nobody reads any more */
	acknowledge(in, port, n < 0 ? length : (uint32_t)n, n < 0);
	if (in->ended && !input_is_pending(in))
		fd_close(&in->fd);
}
