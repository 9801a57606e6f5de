/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake guest's half of the second port. It speaks to its relay as the real helper does
 * (guest/net/), but asks whatever the script says, as a guest that was taken over may: the
 * host alone decides. A relay that breaks the protocol crashes the machine, so that a test
 * notices it.
 *
 * Owns the port and the streams of a machine. A stream has a number, from 1 on, in the
 * order in which streams begin in the machine; a program has one current stream. The
 * commands are in fake_net_script.c.
 */
#include "fake_net.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"

/* --- frames out ---------------------------------------------------------------------- */

void fake_net_flush(struct fake_net *n)
{
	while (n->out.len && !n->ended) {
		ssize_t sent = send(n->port.fd, n->out.data, n->out.len,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent <= 0)
			break;
		buf_eat(&n->out, (size_t)sent);
	}
	if (n->port.loop)
		loop_fd_mod(&n->port, EPOLLIN | (n->out.len ? EPOLLOUT : 0));
}

void fake_net_put(struct fake_net *n, struct net_frame f)
{
	uint8_t bytes[WIRE_HEADER_SIZE + WIRE_NET_PAYLOAD_MAX];
	struct wire_writer w = { .p = bytes, .size = sizeof(bytes) };

	wire_net_put(&w, &f);
	buf_add(&n->out, bytes, w.used);
	fake_net_flush(n);
}

/* --- streams ------------------------------------------------------------------------- */

struct fake_stream *fake_stream_new(struct fake_guest *g, uint32_t id, bool ours)
{
	struct fake_net *n = fake_net_of(g);
	struct fake_stream *s = calloc(1, sizeof(*s));

	if (!s)
		abort(); /* test code: nothing sensible is left to do */
	s->wire = (struct net_stream){ .id = id, .ours = ours, .opened = !ours,
				       .reset = n->ended };
	s->owner = g;
	s->number = ++n->stream_count;
	s->in.cap = s->out.cap = 1u << 30;
	list_add_tail(&n->streams, &s->node);
	g->net_stream = s->number;
	return s;
}

static struct fake_stream *stream_by_id(struct fake_net *n, uint32_t id)
{
	list_for_each(pos, tmp, &n->streams) {
		struct fake_stream *s = list_entry(pos, struct fake_stream, node);

		if (s->wire.id == id)
			return s;
	}
	return NULL;
}

void fake_stream_send(struct fake_net *n, struct fake_stream *s)
{
	size_t size;

	while ((size = MIN(MIN(s->out.len, (size_t)net_stream_room(&s->wire, n->window)),
			   (size_t)WIRE_NET_DATA_MAX))) {
		s->wire.sent += (uint32_t)size;
		fake_net_put(n, (struct net_frame){ .type = WIRE_NET_DATA, .id = s->wire.id,
					   .data = (const uint8_t *)s->out.data,
					   .size = size });
		buf_eat(&s->out, size);
	}
	if (!s->ends || s->out.len || s->wire.said_end || s->wire.reset || !s->wire.opened)
		return;
	s->wire.said_end = true;
	fake_net_put(n, (struct net_frame){ .type = WIRE_NET_END, .id = s->wire.id });
}

void fake_stream_take(struct fake_net *n, struct fake_stream *s, size_t size)
{
	uint32_t told = net_stream_took(&s->wire, n->window, (uint32_t)size);

	buf_eat(&s->in, size);
	if (told && !s->wire.heard_end && !s->wire.reset)
		fake_net_put(n, (struct net_frame){ .type = WIRE_NET_WINDOW, .id = s->wire.id,
					   .window = told });
}

void fake_stream_reset(struct fake_net *n, struct fake_stream *s)
{
	if (s->wire.reset)
		return;
	s->wire.reset = true;
	fake_net_put(n, (struct net_frame){ .type = WIRE_NET_RESET, .id = s->wire.id });
}

void fake_net_lost(struct fake_net *n)
{
	list_for_each(pos, tmp, &n->streams)
		list_entry(pos, struct fake_stream, node)->wire.reset = true;
	n->ended = true;
	loop_fd_del(&n->port);
}

void fake_net_end(struct fake_guest *g)
{
	struct fake_net *n = fake_net_of(g);

	if (!n)
		return;
	list_for_each(pos, tmp, &n->streams) {
		struct fake_stream *s = list_entry(pos, struct fake_stream, node);

		if (s->owner != g)
			continue;
		s->owner = NULL;
		s->ends = true;
		if (!s->wire.opened || s->in.len)
			fake_stream_reset(n, s);
		else
			fake_stream_send(n, s);
	}
}

/* --- frames in ----------------------------------------------------------------------- */

static void on_connect(struct fake_guest *m, const struct net_frame *f)
{
	if (net_ids_begin(&m->net->ids, f->id) < 0)
		m->crash(m->arg);
	else if (!fake_net_called(m, f))
		fake_net_put(m->net, (struct net_frame){ .type = WIRE_NET_RESET, .id = f->id,
						.arg = NET_RESET_REFUSED });
}

static void on_stream(struct fake_guest *m, const struct net_frame *f)
{
	struct fake_stream *s = stream_by_id(m->net, f->id);

	if (!s || s->wire.reset)
		return;
	/* a relay that breaks the protocol fails the test */
	if (net_stream_hear(&s->wire, m->net->window, f) < 0) {
		m->crash(m->arg);
		return;
	}
	if (f->type == WIRE_NET_RESET)
		s->reset = f->arg;
	if (f->type == WIRE_NET_DATA && s->owner)
		buf_add(&s->in, f->data, f->size);
	else if (f->type == WIRE_NET_DATA)
		fake_stream_reset(m->net, s);
	fake_stream_send(m->net, s);
}

static void on_frame(struct fake_guest *m, const struct net_frame *f)
{
	struct fake_net *n = m->net;

	switch (f->type) {
	case WIRE_NET_START:
		n->window = f->window;
		n->started = true;
		return;
	case WIRE_NET_ANSWER:
		fake_net_answered(m, f);
		return;
	case WIRE_NET_CONNECT:
		on_connect(m, f);
		return;
	case WIRE_NET_FINISH:
		fake_net_put(n, (struct net_frame){ .type = WIRE_NET_FINISHED });
		return;
	default:
		on_stream(m, f);
	}
}

static void parse(struct fake_guest *m)
{
	struct fake_net *n = m->net;
	size_t at = 0;

	while (n->in.len - at >= WIRE_HEADER_SIZE) {
		const uint8_t *p = (const uint8_t *)n->in.data + at;
		struct wire_header h;
		struct net_frame f;

		if (wire_net_header_get(p, WIRE_NET_HOST, &h) < 0) {
			m->crash(m->arg);
			return;
		}
		if (n->in.len - at < WIRE_HEADER_SIZE + h.length)
			break;
		if (wire_net_get(&h, p + WIRE_HEADER_SIZE, &f) < 0) {
			m->crash(m->arg);
			return;
		}
		on_frame(m, &f);
		at += WIRE_HEADER_SIZE + h.length;
	}
	buf_eat(&n->in, at);
}

static void on_port(struct loop_fd *src, uint32_t events)
{
	struct fake_guest *m = src->arg;
	struct fake_net *n = m->net;
	char block[65536];
	ssize_t size = recv(src->fd, block, sizeof(block), MSG_DONTWAIT);

	(void)events;
	if (size > 0) {
		buf_add(&n->in, block, (size_t)size);
		parse(m);
	} else if (size == 0) {
		fake_net_lost(n); /* the relay has ended */
	}
	fake_net_flush(n);
	fake_script_run(m);
	fake_lanes_run(m);
}

/* --- the port's life ------------------------------------------------------------------ */

int fake_guest_network(struct fake_guest *g, int fd)
{
	struct fake_net *n = g->net ? NULL : calloc(1, sizeof(*n));

	if (!n) {
		fd_close(&fd);
		return g->net ? -EEXIST : -ENOMEM;
	}
	n->port = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .fn = on_port, .arg = g };
	n->in.cap = n->out.cap = 1u << 30;
	n->ids.side = WIRE_NET_GUEST;
	list_init(&n->streams);
	g->net = n;
	if (!g->paused)
		fake_net_resume(g);
	return 0;
}

void fake_net_pause(struct fake_guest *m)
{
	if (m->net)
		loop_fd_del(&m->net->port);
}

void fake_net_resume(struct fake_guest *m)
{
	if (m->net && !m->net->ended && !m->net->port.loop &&
	    loop_fd_add(m->loop, &m->net->port) < 0)
		m->crash(m->arg);
}

void fake_net_free(struct fake_guest *m)
{
	struct fake_net *n = take_ptr(m->net);

	if (!n)
		return;
	list_for_each(pos, tmp, &n->streams) {
		struct fake_stream *s = list_entry(pos, struct fake_stream, node);

		buf_done(&s->in);
		buf_done(&s->out);
		free(s);
	}
	loop_fd_del(&n->port);
	fd_close(&n->port.fd);
	buf_done(&n->in);
	buf_done(&n->out);
	buf_done(&n->told);
	free(n);
}

void fake_net_told(struct fake_guest *g, const void *payload, size_t length)
{
	struct fake_net *n = g->net;
	struct wire_network net;

	if (!n || wire_network_get(payload, length, &net) < 0) {
		g->crash(g->arg);
		return;
	}
	n->flags |= net.flags;
	buf_clear(&n->told);
	buf_fmt(&n->told, "%s%s", net.flags & WIRE_NETWORK_NAMES ? "names" : "",
		net.flags & WIRE_NETWORK_PORTS ? " ports" : "");
	for (uint32_t i = 0; i < net.route_count; i++) {
		const struct wire_route *r = &net.route[i];
		char text[INET6_ADDRSTRLEN] = "";

		inet_ntop(r->ip6 ? AF_INET6 : AF_INET, r->first + (r->ip6 ? 0 : 12), text,
			  sizeof(text));
		buf_fmt(&n->told, " %s/%u", text, r->bits - (r->ip6 ? 0 : 96));
	}
	if (net.ca[0])
		buf_fmt(&n->told, " ca %zu", strlen(net.ca));
	wire_network_done(&net);
}
