/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's second port: reads the guest's frames and passes each on, and writes the
 * frames for the guest. The guest is hostile: a frame that it may not send ends the relay.
 *
 * Frames are queued in `out`. Streams add DATA while it has less than OUT_FULL bytes, in
 * turns of one frame. A guest that does not read its port is not read either above
 * OUT_STOPS, so that its questions cannot fill the relay's memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"
#include "relay_int.h"

/* --- writing ------------------------------------------------------------------------ */

void port_put(struct relay *r, const struct net_frame *f)
{
	struct wire_writer w;

	if (r->out_at && r->out_at + r->out_size + WIRE_HEADER_SIZE +
				 WIRE_NET_PAYLOAD_MAX > OUT_MAX) {
		memmove(r->out, r->out + r->out_at, r->out_size);
		r->out_at = 0;
	}
	w = (struct wire_writer){ r->out + r->out_at + r->out_size,
				  OUT_MAX - r->out_at - r->out_size, 0 };
	wire_net_put(&w, f);
	if (w.used > w.size) {
		account_broke(r, "it does not read its port");
		return;
	}
	r->out_size += w.used;
	port_pump(r);
}

void port_put_short(struct relay *r, enum wire_net_type type, unsigned arg, uint32_t id)
{
	port_put(r, &(struct net_frame){ .type = (uint8_t)type, .arg = (uint8_t)arg,
					 .id = id });
}

/* The machine has ended. */
static void hung_up(struct relay *r)
{
	loop_fd_del(&r->port_src);
	streams_report(r);
	account_end(r);
}

static void flush(struct relay *r)
{
	while (r->out_size) {
		ssize_t n = send(r->port, r->out + r->out_at, r->out_size,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			hung_up(r);
			return;
		}
		r->out_at += (size_t)n;
		r->out_size -= (size_t)n;
	}
	if (!r->out_size)
		r->out_at = 0;
}

static void on_pump(struct loop_call *c)
{
	struct relay *r = c->arg;
	struct stream *s;

	while (!r->ended && r->out_size < OUT_FULL &&
	       (s = list_first(&r->turns, struct stream, turn)))
		stream_read(s);
	if (!r->ended)
		flush(r);
	if (r->ended)
		return;
	loop_fd_mod(&r->port_src, (r->out_size < OUT_STOPS ? EPOLLIN : 0) |
					  (r->out_size ? EPOLLOUT : 0));
	if (!r->out_size && !list_empty(&r->turns))
		port_pump(r);
}

void port_pump(struct relay *r)
{
	if (!r->ended)
		loop_defer(r->loop, &r->pump);
}

/* --- reading ------------------------------------------------------------------------ */

static void finished(struct relay *r)
{
	if (!r->finishes) {
		account_broke(r, "FINISHED that was not asked for");
		return;
	}
	r->guest_finished = !--r->finishes;
	account_check_finished(r);
}

static void take(struct relay *r, const struct net_frame *f)
{
	switch (f->type) {
	case WIRE_NET_RESOLVE:
		ask_name(r, f->id, f->name);
		return;
	case WIRE_NET_OPEN:
		stream_open(r, f);
		return;
	case WIRE_NET_FINISHED:
		finished(r);
		return;
	case WIRE_NET_FULL:
		account_note(r, &r->names_told, "over %u different names at a time",
			     WIRE_NET_NAMES_MAX);
		return;
	default:
		stream_frame(r, f);
	}
}

/* Takes the first frame of `size` bytes. Return: its bytes; 0: it is not whole, or wrong. */
static size_t take_first(struct relay *r, const uint8_t *p, size_t size)
{
	struct wire_header h;
	struct net_frame f;

	if (size < WIRE_HEADER_SIZE)
		return 0;
	if (wire_net_header_get(p, WIRE_NET_GUEST, &h) < 0) {
		account_broke(r, "a frame that a machine does not send, of type %u", p[6]);
		return 0;
	}
	if (size - WIRE_HEADER_SIZE < h.length)
		return 0;
	if (wire_net_get(&h, p + WIRE_HEADER_SIZE, &f) < 0) {
		account_broke(r, "the payload of %s is wrong", wire_net_type_name(h.type));
		return 0;
	}
	take(r, &f);
	return WIRE_HEADER_SIZE + h.length;
}

static void on_port(struct loop_fd *src, uint32_t events)
{
	struct relay *r = src->arg;
	size_t used = 0, one = 1;
	ssize_t n;

	port_pump(r);
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	n = recv(r->port, r->in + r->in_size, IN_MAX - r->in_size, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hung_up(r);
		return;
	}
	r->in_size += (size_t)n;
	while (one && !r->ended) {
		one = take_first(r, r->in + used, r->in_size - used);
		used += one;
	}
	r->in_size -= used;
	memmove(r->in, r->in + used, r->in_size);
}

int port_open(struct relay *r)
{
	r->pump = (struct loop_call){ .fn = on_pump, .arg = r };
	r->port_src = (struct loop_fd){ .fd = r->port, .fn = on_port, .arg = r };
	r->in = malloc(IN_MAX);
	r->out = malloc(OUT_MAX);
	r->block = malloc(WIRE_NET_DATA_MAX);
	/* the port's end is seen before START, too */
	return r->in && r->out && r->block ? loop_fd_add(r->loop, &r->port_src) : -ENOMEM;
}

void port_start(struct relay *r)
{
	loop_fd_mod(&r->port_src, EPOLLIN);
}

void port_close(struct relay *r)
{
	loop_fd_del(&r->port_src);
	loop_call_del(&r->pump);
	fd_close(&r->port);
	free(r->in);
	free(r->out);
	free(r->block);
}
