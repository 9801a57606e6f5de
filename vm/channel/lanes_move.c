/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves frames between a shared machine's socket and its lanes' socketpairs. It
 * reads a header's lane, length and type and no payload: what a frame means is
 * its channel's to say. The frames that wait for a lane are bounded in both
 * directions, so the memory that a machine takes here is, too.
 */
#include "lanes_int.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define OUT_ENOUGH (128u << 10)    /* for the machine: no more is moved */
#define LANE_OUT_MOST (256u << 10) /* for a channel: the machine is not read */
#define LANE_OUT_LESS (64u << 10)  /* then it is again */
#define IN_CHUNK (64u << 10)
#define ROUNDS 16

/* --- to a lane's channel ---------------------------------------------------- */

static bool has_frame(const struct buf *b)
{
	uint8_t head[WIRE_HEADER_SIZE];
	struct wire_header h;

	if (b->len < WIRE_HEADER_SIZE)
		return false;
	memcpy(head, b->data, sizeof(head));
	return wire_header_get(head, &h) < 0 ||
	       b->len >= WIRE_HEADER_SIZE + h.length;
}

static void lane_interest(struct lane *l)
{
	loop_fd_mod(&l->sock, (has_frame(&l->in) ? 0 : EPOLLIN) |
				      (l->out.len ? EPOLLOUT : 0));
}

/* While one lane has the machine wait, others are not to blame the machine. */
static void stall(struct lanes *ls, bool stalled)
{
	if (ls->stalled == stalled)
		return;
	ls->stalled = stalled;
	loop_fd_mod(&ls->sock, (stalled ? 0 : EPOLLIN) |
				       (ls->out.len ? EPOLLOUT : 0));
	for (unsigned i = 0; i <= WIRE_LANE_MAX; i++)
		if (ls->lane[i] && ls->lane[i]->ch)
			channel_stall(ls->lane[i]->ch, stalled);
	if (!stalled)
		loop_defer(ls->loop, &ls->wake);
}

/* A channel that reads no more holds nobody up. */
static bool is_full(const struct lane *l, size_t most)
{
	return l->ch && l->out.len > most &&
	       channel_phase(l->ch) != PHASE_DONE;
}

void lanes_relieve(struct lanes *ls)
{
	for (unsigned i = 0; ls->stalled && i <= WIRE_LANE_MAX; i++)
		if (ls->lane[i] && is_full(ls->lane[i], LANE_OUT_LESS))
			return;
	if (!ls->paused)
		stall(ls, false);
}

void lanes_pause(struct lanes *ls, bool pause)
{
	ls->paused = pause;
	if (pause)
		stall(ls, true);
	else
		lanes_relieve(ls);
}

void lane_write(struct lane *l)
{
	ssize_t n = 0;

	if (l->out.len)
		n = send(l->sock.fd, l->out.data, l->out.len,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n > 0)
		buf_eat(&l->out, (size_t)n);
	if (!l->out.len)
		buf_done(&l->out); /* lanes are many, and most are at rest */
	lane_interest(l);
}

/* Bytes of a whole frame, as its channel knows them. */
static void deliver(struct lane *l, const uint8_t *frame, size_t size)
{
	ssize_t n = 0;

	if (channel_phase(l->ch) == PHASE_DONE)
		return; /* it reads no more */
	if (!l->out.len)
		n = send(l->sock.fd, frame, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	n = MAX(n, 0);
	if ((size_t)n < size &&
	    buf_add(&l->out, frame + n, size - (size_t)n) < 0)
		lanes_fail(l->of, "no memory for a frame from the machine");
	lane_interest(l);
	if (!l->of->draining && is_full(l, LANE_OUT_MOST))
		stall(l->of, true);
}

/* --- from the machine -------------------------------------------------------- */

static void on_closed(struct lanes *ls, struct lane *l, uint32_t length)
{
	if (!lane_is_closing(l) || length)
		lanes_fail(ls, "the machine closed a lane that it was not asked to");
	else
		lane_free(l);
}

/* A whole frame, lane and all. */
static void on_frame(struct lanes *ls, uint8_t *frame,
		     const struct wire_header *h, uint8_t number)
{
	struct lane *l = number <= WIRE_LANE_MAX ? ls->lane[number] : NULL;

	if (!l || (!l->begun && number)) {
		lanes_fail(ls, "the machine spoke on a lane that is not open");
		return;
	}
	if (!ls->heard && h->type != WIRE_HEATED) {
		ls->heard = true;
		ls->ev->heard(ls->arg);
	}
	if (h->type == WIRE_CLOSED)
		on_closed(ls, l, h->length);
	else if (!lane_is_closing(l))
		deliver(l, frame, WIRE_HEADER_SIZE + h->length);
}

/* Every whole frame that is buffered, unless the turn is over or a lane is
 * full. Return: may there be more of them? */
static bool parse(struct lanes *ls, uint64_t until)
{
	size_t at = 0;
	bool more = false;

	while (!ls->fault && ls->in_len - at >= WIRE_HEADER_SIZE) {
		uint8_t *p = ls->in + at, head[WIRE_HEADER_SIZE], lane;
		struct wire_header h;

		memcpy(head, p, sizeof(head));
		lane = wire_lane_take(head);
		if (wire_header_get(head, &h) < 0 ||
		    h.length > WIRE_PAYLOAD_MAX) {
			lanes_fail(ls, "the machine sent bytes that are no frame");
			break;
		}
		if (ls->in_len - at < WIRE_HEADER_SIZE + h.length)
			break;
		more = !ls->draining && (ls->stalled || now_ns() >= until);
		if (more)
			break;
		memcpy(p, head, sizeof(head));
		on_frame(ls, p, &h, lane);
		at += WIRE_HEADER_SIZE + h.length;
	}
	ls->in_len -= at;
	if (at && ls->in_len)
		memmove(ls->in, ls->in + at, ls->in_len);
	return more;
}

bool lanes_read(struct lanes *ls, uint64_t until)
{
	ssize_t n;

	if (parse(ls, until)) {
		if (!ls->stalled)
			loop_defer(ls->loop, &ls->wake);
		return false;
	}
	if (ls->fault || ls->over)
		return false;
	n = recv(ls->sock.fd, ls->in + ls->in_len, LANES_IN_SIZE - ls->in_len,
		 MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		ls->eof = true;
		lanes_fail(ls, "the machine closed its wire");
		return false;
	}
	ls->in_len += (size_t)n;
	return true;
}

/* --- to the machine ----------------------------------------------------------- */

/* Moves the first frame that a lane has. Return: false if it has none. */
static bool move_one(struct lanes *ls, struct lane *l)
{
	struct wire_header h;
	uint8_t *p = (uint8_t *)l->in.data;
	size_t size;

	if (!has_frame(&l->in))
		return false;
	if (wire_header_get(p, &h) < 0) { /* it is our own channel's */
		lanes_fail(ls, "a frame of this host's own is malformed");
		return false;
	}
	size = WIRE_HEADER_SIZE + h.length;
	wire_lane_put(p, l->number);
	if (buf_add(&ls->out, p, size) < 0)
		lanes_fail(ls, "no memory for a frame to the machine");
	buf_eat(&l->in, size);
	if (!l->in.len)
		buf_done(&l->in);
	l->begun = true;
	return true;
}

/* One frame of each lane in turn, while there is room. */
static void fill(struct lanes *ls)
{
	unsigned idle = 0;

	while (idle <= WIRE_LANE_MAX && !ls->fault &&
	       ls->out.len < OUT_ENOUGH) {
		struct lane *l = ls->lane[ls->next];

		ls->next = (ls->next + 1) % (WIRE_LANE_MAX + 1);
		if (!l || lane_is_closing(l) || !move_one(ls, l)) {
			idle++;
			continue;
		}
		idle = 0;
		lane_interest(l);
	}
}

/* Return: false when the socket takes no more now, or there is no more. */
static bool write_some(struct lanes *ls)
{
	ssize_t n;

	fill(ls);
	if (!ls->out.len || ls->fault)
		return false;
	n = send(ls->sock.fd, ls->out.data, ls->out.len,
		 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		buf_clear(&ls->out); /* its last words, if any, are read first */
	if (n <= 0)
		return false;
	buf_eat(&ls->out, (size_t)n);
	return true;
}

static void pump(struct lanes *ls)
{
	unsigned rounds = ROUNDS;

	while (write_some(ls) && --rounds)
		;
	if (!rounds)
		loop_defer(ls->loop, &ls->wake);
	loop_fd_mod(&ls->sock, (ls->stalled ? 0 : EPOLLIN) |
				       (ls->out.len ? EPOLLOUT : 0));
}

/* --- the loop's handlers -------------------------------------------------------- */

void lanes_on_wire(struct loop_fd *src, uint32_t events)
{
	struct lanes *ls = src->arg;
	uint64_t until = now_ns() + LANES_TURN_NS;
	unsigned rounds = ROUNDS;

	if (events & EPOLLOUT)
		pump(ls);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		while (rounds && !ls->stalled && lanes_read(ls, until))
			rounds--;
	if (!rounds) /* what was read last waits */
		loop_defer(ls->loop, &ls->wake);
	/* HUP is told again and again; a lane that is full comes first. */
	if (ls->stalled && (events & EPOLLHUP))
		loop_fd_del(&ls->sock);
	lanes_settle(ls);
}

/* It is listened to again. */
static void hear(struct lanes *ls)
{
	if (!ls->sock.loop && loop_fd_add(ls->loop, &ls->sock) < 0)
		lanes_fail(ls, "its wire was lost");
	if (parse(ls, now_ns() + LANES_TURN_NS) && !ls->stalled)
		loop_defer(ls->loop, &ls->wake);
}

void lanes_on_wake(struct loop_call *c)
{
	struct lanes *ls = c->arg;

	if (ls->over)
		return;
	if (!ls->stalled)
		hear(ls);
	pump(ls);
	lanes_settle(ls);
}

static void lane_read(struct lane *l)
{
	ssize_t n;

	if (has_frame(&l->in) || buf_reserve(&l->in, IN_CHUNK) < 0)
		return;
	n = recv(l->sock.fd, l->in.data + l->in.len, IN_CHUNK, MSG_DONTWAIT);
	if (n > 0)
		l->in.len += (size_t)n;
	else if (n == 0)
		loop_fd_del(&l->sock); /* its channel has ended */
	if (!l->in.len)
		buf_done(&l->in);
}

void lanes_on_lane(struct loop_fd *src, uint32_t events)
{
	struct lane *l = src->arg;
	struct lanes *ls = l->of;

	if (events & EPOLLOUT)
		lane_write(l);
	lanes_relieve(ls);
	if (events & (EPOLLIN | EPOLLHUP))
		lane_read(l);
	if (!ls->over)
		pump(ls);
	lane_interest(l);
	lanes_settle(ls);
}
