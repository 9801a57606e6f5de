/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of lanes: shared by lanes.c (numbers, opening, closing) and
 * lanes_move.c (bytes).
 */
#ifndef VM_LANES_INT_H
#define VM_LANES_INT_H

#include "channel_int.h"
#include "lanes.h"
#include "mux.h"

#define LANES_TURN_NS (2 * NS_PER_MS)

struct lane {
	struct lanes *of;
	uint8_t number;
	/* owned, except lane 0's; NULL: the lane is closing */
	struct channel *ch;
	struct buf out; /* frames that the lane's channel has not taken */
	bool refused; /* the lane's replay buffer has no room for the next frame */
	/* The lane's channel has a frame to send, and `out` had no room or another lane
	 * had the turn. */
	bool wants;
	/* of a lane that is closed: when CLOSED must have come (now_ns()) */
	uint64_t closed_by_ns;
};

struct lanes {
	struct loop *loop;       /* borrowed */
	const struct lanes_events *ev;
	void *arg;
	/* `scale` is the factor of every timeout now, `least` the one with few lanes */
	unsigned scale, least;
	struct loop_fd sock; /* the machine's socket; its fd is owned */
	struct loop_call wake; /* frames are buffered, or there is room */
	struct loop_timer closing;
	struct vm_mux *mux; /* borrowed, unless `own` is set */
	bool own; /* mux was mapped here, and lanes_free() unmaps it */
	uint64_t rested; /* out.at when `out` last gave its pages back */
	/* owned: a copy of a frame that wraps around the ring */
	uint8_t *payload;
	struct lane *lane[WIRE_LANE_MAX + 1]; /* owned; NULL: not open */
	unsigned next; /* number of the lane that may send next */
	const struct lane *turn; /* the lane that sends now, or NULL */
	bool turn_used; /* the lane has sent its frame of this turn */
	unsigned wanting; /* lanes with `wants` set */
	bool heard; /* ev->heard() was called */
	bool stalled; /* the machine is not read because a lane is full */
	bool paused; /* the machine is stopped */
	bool waits; /* lanes_go() was not called yet */
	/* lanes_drain() runs: no limit of time or size applies */
	bool draining;
	bool over; /* the end was reported; no more bytes move */
	bool eof;
	bool freed; /* lanes_free() was called; frees when busy is 0 */
	unsigned busy;           /* depth of calls that deliver events */
	/* reason of an end that lanes_report_failure() will report; NULL: none */
	const char *fault;
};

/* --- lanes.c ----------------------------------------------------------------- */

static inline bool lane_is_closing(const struct lane *l)
{
	return l->number && !l->ch;
}
/* Removes a lane from the table and frees it. */
void lane_free(struct lane *l);
/* Notes why the machine's wire must end; lanes_report_failure() reports it. */
void lanes_fail(struct lanes *ls, const char *sentence);
/* Ends a call that delivers events (busy). May free ls. */
void lanes_leave(struct lanes *ls);
/* Reports a noted fault. Each handler of the loop calls it last. */
void lanes_report_failure(struct lanes *ls);

/* --- lanes_move.c -------------------------------------------------------------- */

/* transport of a lane's channel; arg: the lane */
extern const struct channel_transport lane_transport;

void lanes_on_wire(struct loop_fd *src, uint32_t events);
void lanes_on_wake(struct loop_call *c);
/* Handles the frames that have come, then reads once. Return: false when
 * nothing more is there now. */
bool lanes_read(struct lanes *ls, uint64_t until);
/* Reads the machine again if no lane is full any more. Call it when a lane has
 * taken frames or has ended. */
void lanes_relieve(struct lanes *ls);
void lane_wants(struct lane *l, bool wants);
/* Puts a frame without a payload. state: the lane's from then on. */
void lane_put(struct lane *l, enum wire_type type, uint8_t arg,
	      enum mux_lane state);

#endif
