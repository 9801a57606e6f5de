/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds frames to `out`, consumes frames of `in`, and changes a lane's state with them. A
 * SIGKILL may come between any two stores, so each change has three steps.
 *
 * First the note (lane, new state, position), then the ring's position, then the lane.
 * mux_recover() runs in the next server: it repeats the last step if the note's position
 * was reached. All functions run on the loop.
 */
#include "mux.h"

#include <errno.h>
#include <string.h>

void mux_begin(struct vm_mux *m)
{
	m->shared = 0;
	ring_in_order();
	m->epoch = 0;
	memset(m->lane, 0, sizeof(m->lane));
	m->in = m->out = (struct ring){ 0 };
	m->said = m->heard = (struct mux_note){ 0 };
}

void mux_end(struct vm_mux *m)
{
	m->shared = 0;
	ring_in_order();
	m->in.at = m->in.end;
	m->out.at = m->out.end;
	ring_rest(&m->in, mux_in(m));
	ring_rest(&m->out, mux_out(m));
}

/* Clears the notes: both changes are complete. */
static void forget_notes(struct vm_mux *m)
{
	m->said.at = m->heard.at = 0;
	ring_in_order();
}

/* Writes a note before the ring moves to `at`. While the note is incomplete its
 * position is 0, so that mux_recover() ignores it. */
static void note(struct vm_mux *m, struct mux_note *n, uint64_t at,
		 unsigned lane, enum mux_lane state)
{
	forget_notes(m);
	n->lane = lane;
	n->state = state;
	ring_in_order();
	n->at = at;
	ring_in_order();
}

int mux_put(struct vm_mux *m, const uint8_t *head, const uint8_t *payload,
	    size_t length, unsigned lane, enum mux_lane state,
	    uint64_t *ret_at)
{
	struct ring *r = &m->out;
	uint64_t end = r->end + WIRE_HEADER_SIZE + length;

	if (end - r->at > VM_MUX_OUT)
		return -ENOBUFS;
	ring_set(mux_out(m), r->end, head, WIRE_HEADER_SIZE);
	if (length)
		ring_set(mux_out(m), r->end + WIRE_HEADER_SIZE, payload, length);
	if (ret_at)
		*ret_at = end;
	if (state < MUX_LANE_MAX)
		note(m, &m->said, end, lane, state);
	ring_in_order();
	r->end = end;
	ring_in_order();
	if (state < MUX_LANE_MAX)
		m->lane[lane] = state;
	return 0;
}

void mux_eat(struct vm_mux *m, size_t size, unsigned lane, enum mux_lane state)
{
	uint64_t at = m->in.at + size;

	if (state < MUX_LANE_MAX)
		note(m, &m->heard, at, lane, state);
	ring_in_order();
	m->in.at = at;
	ring_in_order();
	if (state < MUX_LANE_MAX)
		m->lane[lane] = state;
}

void mux_set(struct vm_mux *m, unsigned lane, enum mux_lane state)
{
	forget_notes(m);
	m->lane[lane] = state;
}

/* Completes a change if the process was killed after the ring had moved and before the
 * lane's state was stored. */
static void settle(struct vm_mux *m, const struct mux_note *n, uint64_t at)
{
	if (n->at && n->at == at && n->lane <= WIRE_LANE_MAX &&
	    n->state < MUX_LANE_MAX)
		m->lane[n->lane] = n->state;
}

int mux_recover(struct vm_mux *m)
{
	if (!m->shared || ring_recover_received(&m->in, mux_in(m)) < 0 ||
	    ring_recover_sent(&m->out, mux_out(m)) < 0)
		return -EPROTO;
	settle(m, &m->said, m->out.end);
	settle(m, &m->heard, m->in.at);
	for (unsigned i = 0; i <= WIRE_LANE_MAX; i++)
		if (m->lane[i] >= MUX_LANE_MAX)
			return -EPROTO;
	m->origin.template_id[sizeof(m->origin.template_id) - 1] = '\0';
	m->epoch++;
	return 0;
}
