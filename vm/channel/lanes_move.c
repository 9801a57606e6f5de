/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves frames between a shared machine's socket and its lanes' channels. It
 * reads a header's lane, length and type, and no payload; the lane's channel
 * handles the frame. The frames that wait for a lane are bounded in both
 * directions, and so is the memory.
 *
 * In order: to a lane's channel, from the machine, to the machine, the loop's
 * handlers. All functions run on the loop, in turns of at most LANES_TURN_NS.
 */
#include "lanes_int.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* bytes in the mux's `out` above which no frame is put */
#define OUT_ENOUGH (128u << 10)
/* bytes waiting for a channel above which the machine is not read */
#define LANE_OUT_MOST (256u << 10)
#define LANE_OUT_LESS (64u << 10) /* below this number of bytes the socket is read
				   * again */
/* bytes sent after which an empty `out` gives its pages back */
#define REST_BYTES (256u << 10)
#define ROUNDS 16

_Static_assert(VM_MUX_OUT >= OUT_ENOUGH + 2 * (WIRE_HEADER_SIZE + WIRE_JOB_MAX),
	       "a JOB, and the frames of closing");

static void interest(struct lanes *ls)
{
	loop_fd_mod(&ls->sock, (ls->stalled ? 0 : EPOLLIN) |
				       (ring_len(&ls->mux->out) ? EPOLLOUT : 0));
}

/* --- to a lane's channel ---------------------------------------------------- */

/* Starts or stops reading the machine because of a full lane. Meanwhile the
 * guest cannot be heard, so the timeouts of all lanes rest. */
static void stall(struct lanes *ls, bool stalled)
{
	if (ls->stalled == stalled)
		return;
	ls->stalled = stalled;
	interest(ls);
	for (unsigned i = 0; i <= WIRE_LANE_MAX; i++)
		if (ls->lane[i] && ls->lane[i]->ch)
			channel_stall(ls->lane[i]->ch, stalled);
	if (!stalled)
		loop_defer(ls->loop, &ls->wake);
}

static bool reads_on(const struct lane *l)
{
	return l->ch && channel_phase(l->ch) != PHASE_DONE;
}

/* Returns whether so much waits for the lane that the machine must not be read. A lane
 * whose channel has ended never is full: frames for it are dropped. */
static bool is_full(const struct lane *l, size_t most)
{
	return reads_on(l) && (l->refused || l->out.len > most);
}

void lanes_relieve(struct lanes *ls)
{
	for (unsigned i = 0; ls->stalled && i <= WIRE_LANE_MAX; i++)
		if (ls->lane[i] && is_full(ls->lane[i], LANE_OUT_LESS))
			return;
	if (!ls->paused && !ls->waits)
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

/* Gives a frame to the lane's channel. Return: false if the channel has no room now. */
static bool deliver(struct lane *l, const uint8_t *head, const uint8_t *payload,
		    size_t length, uint64_t at)
{
	struct lanes *ls = l->of;
	int r = channel_feed(l->ch, head, payload, length, at, ls->draining);

	if (ls->freed)
		return true; /* channel_feed() called lanes_free() */
	if (r == -EAGAIN && reads_on(l)) {
		l->refused = true;
		if (!ls->draining)
			stall(ls, true);
		return false;
	}
	if (r || !reads_on(l))
		/* the replay buffer has it, or the channel has ended */
		return true;
	if (buf_add(&l->out, head, WIRE_HEADER_SIZE) < 0 ||
	    (length && buf_add(&l->out, payload, length) < 0))
		lanes_fail(ls, "no memory for a frame from the machine");
	channel_wake(l->ch);
	if (!ls->draining && is_full(l, LANE_OUT_MOST))
		stall(ls, true);
	return true;
}

static ssize_t transport_take(void *arg, uint8_t *data, size_t size)
{
	struct lane *l = arg;
	size_t n = MIN(size, l->out.len);

	if (!n)
		return -EAGAIN;
	memcpy(data, l->out.data, n);
	buf_eat(&l->out, n);
	if (!l->out.len)
		buf_done(&l->out); /* there are many lanes, and most are idle */
	return (ssize_t)n;
}

static void transport_took(void *arg)
{
	struct lane *l = arg;

	l->refused = false;
	lanes_relieve(l->of);
}

static void transport_idle(void *arg)
{
	struct lane *l = arg;

	mux_set(l->of->mux, l->number, MUX_IDLE);
}

/* --- from the machine -------------------------------------------------------- */

struct came {
	struct wire_header h;
	uint8_t head[WIRE_HEADER_SIZE]; /* the header with its lane set to 0 */
	uint8_t lane;
	const uint8_t *payload;
};

static void on_closed(struct lanes *ls, struct lane *l, const struct came *f)
{
	if (!lane_is_closing(l) || f->h.length) {
		lanes_fail(ls, "the machine closed a lane that it was not asked to");
		return;
	}
	mux_eat(ls->mux, WIRE_HEADER_SIZE, l->number, MUX_FREE);
	lane_free(l);
}

/* Handles one frame. Return: false if its lane has no room now; then keep the frame. */
static bool on_frame(struct lanes *ls, const struct came *f)
{
	struct vm_mux *m = ls->mux;
	struct lane *l = f->lane <= WIRE_LANE_MAX ? ls->lane[f->lane] : NULL;
	size_t size = WIRE_HEADER_SIZE + f->h.length;
	bool open = l && (!f->lane || m->lane[f->lane] != MUX_FREE);

	if (!open) {
		lanes_fail(ls, "the machine spoke on a lane that is not open");
		return false;
	}
	if (!ls->heard && f->h.type != WIRE_HEATED) {
		ls->heard = true;
		ls->ev->heard(ls->arg);
	}
	if (f->h.type == WIRE_CLOSED) {
		on_closed(ls, l, f);
		return true;
	}
	/* The dead process may have put this frame into a replay buffer
	 * already. */
	if (!lane_is_closing(l) && !channel_has_fed(l->ch, m->in.at + size) &&
	    !deliver(l, f->head, f->payload, f->h.length, m->in.at + size))
		return false;
	if (!ls->freed) /* the event may have freed it */
		mux_eat(m, size, 0, MUX_LANE_MAX);
	return true;
}

/* Returns the payload at position from in one piece; copies it if it wraps
 * around. */
static const uint8_t *payload_at(struct lanes *ls, uint64_t from, size_t size)
{
	const uint8_t *piece;

	if (ring_piece(mux_in(ls->mux), from, size, &piece) == size)
		return piece;
	ring_get(mux_in(ls->mux), from, ls->payload, size);
	return ls->payload;
}

/*
 * Handles every whole frame that is buffered, until the turn is over or a lane
 * is full.
 * Return: whether more frames may follow.
 */
static bool parse(struct lanes *ls, uint64_t until)
{
	struct vm_mux *m = ls->mux;

	while (!ls->fault && !ls->freed &&
	       ring_len(&m->in) >= WIRE_HEADER_SIZE) {
		struct came f;

		ring_get(mux_in(m), m->in.at, f.head, sizeof(f.head));
		f.lane = wire_lane_take(f.head);
		if (wire_header_get(f.head, &f.h) < 0 ||
		    f.h.length > WIRE_PAYLOAD_MAX) {
			lanes_fail(ls, "the machine sent bytes that are no frame");
			break;
		}
		if (ring_len(&m->in) < WIRE_HEADER_SIZE + f.h.length)
			break;
		if (!ls->draining && (ls->stalled || now_ns() >= until))
			return true;
		f.payload = payload_at(ls, m->in.at + WIRE_HEADER_SIZE,
				       f.h.length);
		if (!on_frame(ls, &f))
			return true;
	}
	return false;
}

bool lanes_read(struct lanes *ls, uint64_t until)
{
	struct vm_mux *m = ls->mux;
	ssize_t n;

	if (parse(ls, until)) {
		if (!ls->stalled && !ls->freed)
			loop_defer(ls->loop, &ls->wake);
		return false;
	}
	if (ls->fault || ls->over || ls->freed)
		return false;
	n = ring_receive(&m->in, mux_in(m), ls->sock.fd,
			 VM_MUX_IN - ring_len(&m->in));
	if (n == -EAGAIN || n == -EINTR)
		return false;
	if (n <= 0) {
		ls->eof = true;
		lanes_fail(ls, "the machine closed its wire");
		return false;
	}
	return true;
}

/* --- to the machine ----------------------------------------------------------- */

void lane_wants(struct lane *l, bool wants)
{
	if (l->wants == wants)
		return;
	l->wants = wants;
	l->of->wanting += wants ? 1u : -1u;
}

/* Returns whether the lane may put a frame now. If several lanes want to, each
 * puts one frame in turn. */
static bool is_its_turn(const struct lane *l)
{
	const struct lanes *ls = l->of;

	if (ring_len(&ls->mux->out) >= OUT_ENOUGH)
		return false;
	return ls->turn == l ? !ls->turn_used || !ls->wanting : !ls->wanting;
}

static ssize_t put_frame(struct lane *l, const uint8_t *head,
			 const uint8_t *payload, size_t length,
			 enum mux_lane state, uint64_t *ret_at)
{
	struct lanes *ls = l->of;
	uint8_t its[WIRE_HEADER_SIZE];

	memcpy(its, head, sizeof(its));
	wire_lane_put(its, l->number);
	if (mux_put(ls->mux, its, payload, length, l->number, state, ret_at) < 0) {
		lanes_fail(ls, "the machine takes too little of what is said to it");
		return -EAGAIN;
	}
	if (!ls->over)
		loop_defer(ls->loop, &ls->wake);
	return (ssize_t)(WIRE_HEADER_SIZE + length);
}

void lane_put(struct lane *l, enum wire_type type, uint8_t arg,
	      enum mux_lane state)
{
	uint8_t head[WIRE_HEADER_SIZE];

	wire_header_put(head, 0, (uint8_t)type, arg);
	put_frame(l, head, NULL, 0, state, NULL);
}

static ssize_t transport_put(void *arg, const uint8_t *frame, uint64_t *ret_at)
{
	struct lane *l = arg;
	struct wire_header h;

	if (l->of->over || !is_its_turn(l)) {
		lane_wants(l, !l->of->over);
		return -EAGAIN;
	}
	/* A malformed frame is a bug here: this host's own channel made it. */
	if (wire_header_get(frame, &h) < 0) {
		lanes_fail(l->of, "a frame of this host's own is malformed");
		return -EAGAIN;
	}
	l->of->turn_used = true;
	return put_frame(l, frame, frame + WIRE_HEADER_SIZE, h.length,
			 l->number && h.type == WIRE_JOB ? MUX_BUSY
							   : MUX_LANE_MAX,
			 ret_at);
}

const struct channel_transport lane_transport = {
	.put = transport_put, .take = transport_take,
	.took = transport_took, .idle = transport_idle,
};

/* Lets each lane that wants to put a frame do so, while `out` has room. */
static void give_turns(struct lanes *ls)
{
	for (unsigned i = 0; i <= WIRE_LANE_MAX && ls->wanting && !ls->freed &&
			     ring_len(&ls->mux->out) < OUT_ENOUGH; i++) {
		struct lane *l = ls->lane[ls->next];

		ls->next = (ls->next + 1) % (WIRE_LANE_MAX + 1);
		if (!l || !l->wants || !l->ch)
			continue;
		lane_wants(l, false);
		ls->turn = l;
		ls->turn_used = false;
		channel_pump(l->ch); /* may free the channel */
		ls->turn = NULL;
	}
}

/* Gives the pages of an empty `out` back, once REST_BYTES have gone through it. */
static void rest(struct lanes *ls)
{
	struct vm_mux *m = ls->mux;

	if (ring_len(&m->out) || m->out.at - ls->rested < REST_BYTES)
		return;
	ring_rest(&m->out, mux_out(m));
	ls->rested = m->out.at;
}

/* Sends from `out`. Return: false when the socket takes no more now, or `out`
 * is empty. */
static bool write_some(struct lanes *ls)
{
	struct ring *out = &ls->mux->out;
	ssize_t n;

	give_turns(ls);
	if (ls->freed || ls->fault || !ring_len(out))
		return false;
	n = ring_send(out, mux_out(ls->mux), ls->sock.fd);
	if (n < 0 && n != -EAGAIN && n != -EINTR)
		/* the peer has gone; read its last frames, if any, first */
		out->at = out->end;
	return n > 0;
}

static void pump(struct lanes *ls)
{
	unsigned rounds = ROUNDS;

	while (write_some(ls) && --rounds)
		;
	if (ls->freed)
		return;
	if (!rounds)
		loop_defer(ls->loop, &ls->wake);
	rest(ls);
	interest(ls);
}

/* --- the loop's handlers -------------------------------------------------------- */

void lanes_on_wire(struct loop_fd *src, uint32_t events)
{
	struct lanes *ls = src->arg;
	uint64_t until = now_ns() + LANES_TURN_NS;
	unsigned rounds = ROUNDS;

	ls->busy++;
	if (events & EPOLLOUT)
		pump(ls);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		while (rounds && !ls->stalled && !ls->freed &&
		       lanes_read(ls, until))
			rounds--;
	/* ROUNDS reads were made. lanes_read() handles frames before it reads, so the
	 * frames of the last read are left to the next turn. */
	if (!rounds && !ls->freed)
		loop_defer(ls->loop, &ls->wake);
	/* epoll reports HUP in every turn. So leave epoll until the full lane has room
	 * again (hear()). */
	if (ls->stalled && (events & EPOLLHUP))
		loop_fd_del(&ls->sock);
	lanes_report_failure(ls);
	lanes_leave(ls);
}

/* Adds the socket to the loop again, and handles what is buffered. */
static void hear(struct lanes *ls)
{
	if (!ls->sock.loop && loop_fd_add(ls->loop, &ls->sock) < 0)
		lanes_fail(ls, "its wire was lost");
	if (parse(ls, now_ns() + LANES_TURN_NS) && !ls->stalled && !ls->freed)
		loop_defer(ls->loop, &ls->wake);
}

void lanes_on_wake(struct loop_call *c)
{
	struct lanes *ls = c->arg;

	if (ls->over || ls->waits)
		return;
	ls->busy++;
	if (!ls->stalled)
		hear(ls);
	if (!ls->freed)
		pump(ls);
	lanes_report_failure(ls);
	lanes_leave(ls);
}
