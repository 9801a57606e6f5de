/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes the second port, which never blocks. DATA is received from a program's
 * socket right behind its header in `out`, so no byte is copied twice. Only the helper
 * uses it.
 */
#include "net_port.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define DATA_HEAD (WIRE_HEADER_SIZE + 4u) /* header and stream */

_Static_assert(NET_PORT_STOPS + DATA_HEAD + WIRE_NET_DATA_MAX < NET_PORT_OUT,
	       "a DATA fits");
_Static_assert(WIRE_HEADER_SIZE + WIRE_NET_PAYLOAD_MAX < NET_PORT_IN / 2, "a frame fits");

/* A read of the port gives one buffer of its driver, which is a page; readv(2) reads one
 * buffer for each piece, until one is not full. */
#define PIECE  4096u
#define PIECES ((NET_PORT_IN + PIECE - 1) / PIECE)

int net_port_fill(struct net_port *p)
{
	struct iovec pieces[PIECES];
	int count = 0;
	ssize_t n;

	memmove(p->in, p->in + p->in_at, p->in_end - p->in_at);
	p->in_end -= p->in_at;
	p->in_at = 0;
	for (size_t at = p->in_end; at < sizeof(p->in); at += pieces[count++].iov_len) {
		size_t rest = sizeof(p->in) - at;

		pieces[count].iov_base = p->in + at;
		pieces[count].iov_len = rest < PIECE ? rest : PIECE;
	}
	n = readv(p->fd, pieces, count);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		return -EPIPE;
	if (n > 0)
		p->in_end += (size_t)n;
	else if (errno == EAGAIN)
		p->reads = false;
	return 0;
}

int net_port_next(struct net_port *p, struct net_frame *ret)
{
	const uint8_t *at = p->in + p->in_at;
	size_t have = p->in_end - p->in_at;
	struct wire_header h;
	int r;

	if (have < WIRE_HEADER_SIZE)
		return 0;
	r = wire_net_header_get(at, WIRE_NET_HOST, &h);
	if (r < 0)
		return r;
	if (have - WIRE_HEADER_SIZE < h.length)
		return 0;
	p->in_at += WIRE_HEADER_SIZE + h.length;
	r = wire_net_get(&h, at + WIRE_HEADER_SIZE, ret);
	return r < 0 ? r : 1;
}

int net_port_flush(struct net_port *p)
{
	while (p->out_at < p->out_end) {
		ssize_t n = write(p->fd, p->out + p->out_at, p->out_end - p->out_at);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
		p->out_at += (size_t)n;
	}
	p->out_at = p->out_end = 0;
	return 0;
}

/* Moves the bytes that wait to the front if fewer than size fit behind them. */
static void make_room(struct net_port *p, size_t size)
{
	if (sizeof(p->out) - p->out_end >= size)
		return;
	memmove(p->out, p->out + p->out_at, p->out_end - p->out_at);
	p->out_end -= p->out_at;
	p->out_at = 0;
}

int net_port_put(struct net_port *p, const struct net_frame *f)
{
	struct wire_writer w = { 0 };

	make_room(p, DATA_HEAD + WIRE_NET_DATA_MAX);
	w = (struct wire_writer){ p->out + p->out_end, sizeof(p->out) - p->out_end, 0 };
	wire_net_put(&w, f);
	if (w.used > w.size)
		return -ENOBUFS;
	p->out_end += w.used;
	return 0;
}

uint8_t *net_port_room(struct net_port *p)
{
	make_room(p, DATA_HEAD + WIRE_NET_DATA_MAX);
	return p->out + p->out_end + DATA_HEAD;
}

void net_port_put_data(struct net_port *p, uint32_t id, size_t n)
{
	static const uint8_t tail[4] = { WIRE_NET_MAGIC & 0xff, WIRE_NET_MAGIC >> 8,
					 WIRE_NET_DATA, 0 };
	struct wire_writer w = { p->out + p->out_end, DATA_HEAD, 0 };

	wire_put_u32(&w, (uint32_t)n + 4);
	wire_put_bytes(&w, tail, sizeof(tail));
	wire_put_u32(&w, id);
	p->out_end += DATA_HEAD + n;
}
