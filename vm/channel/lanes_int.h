/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by lanes.c (numbers, opening, closing) and lanes_move.c (bytes). */
#ifndef VM_LANES_INT_H
#define VM_LANES_INT_H

#include "channel_int.h"
#include "lanes.h"
#include "mux.h"

#define LANES_TURN_NS (2 * NS_PER_MS)

struct lane {
	struct lanes *of;
	uint8_t number;
	struct channel *ch;      /* owned, but lane 0's; NULL: closed */
	struct buf out;          /* for its channel, not taken yet */
	bool refused;            /* its channel has no room for the next frame */
	bool wants;              /* it has a frame, and `out` had no room, or it was
				    not its turn */
	uint64_t closed_by_ns;   /* closed: CLOSED is due then */
};

struct lanes {
	struct loop *loop;       /* borrowed */
	const struct lanes_events *ev;
	void *arg;
	unsigned scale, least;   /* of every wait: now; with few lanes */
	struct loop_fd sock;     /* the machine's; fd is owned */
	struct loop_call wake;   /* frames are buffered, or there is room */
	struct loop_timer closing;
	struct vm_mux *mux;      /* the owner's, or own */
	bool own;                /* it is mapped here */
	uint64_t rested;         /* what `out` had moved when it was empty last */
	uint8_t *payload;        /* owned: of a frame that lies in two pieces */
	struct lane *lane[WIRE_LANE_MAX + 1]; /* owned; NULL: not open */
	unsigned next;           /* whose turn it is to send, */
	const struct lane *turn; /* while that is under way, */
	bool turn_used;          /* and it has sent */
	unsigned wanting;        /* lanes that want to */
	bool heard;              /* ev's was called */
	bool stalled;            /* the machine is not read: a lane is full, */
	bool paused;             /* or it is stopped, */
	bool waits;              /* or lanes_go() was not called */
	bool draining;           /* it is dead: no turn is over, no lane full */
	bool over;               /* nothing is moved any more */
	bool eof;
	bool freed;              /* it is to be freed when busy is 0 */
	unsigned busy;           /* depth of calls that deliver events */
	const char *fault;       /* why it is about to be over */
};

/* --- lanes.c ----------------------------------------------------------------- */

static inline bool lane_is_closing(const struct lane *l)
{
	return l->number && !l->ch;
}
/* Out of its place, and gone. */
void lane_free(struct lane *l);
/* Notes why it cannot go on; lanes_settle() tells. */
void lanes_fail(struct lanes *ls, const char *sentence);
/* busy is one less: it may be gone behind that. */
void lanes_leave(struct lanes *ls);
/* The last thing that a handler of the loop does: tells of a fault. */
void lanes_settle(struct lanes *ls);

/* --- lanes_move.c -------------------------------------------------------------- */

extern const struct channel_far lane_far; /* of a lane's channel; arg: the lane */

void lanes_on_wire(struct loop_fd *src, uint32_t events);
void lanes_on_wake(struct loop_call *c);
/* Deals with what has come, and reads once. Return: false when there is no more now. */
bool lanes_read(struct lanes *ls, uint64_t until);
/* A lane takes no part any more, or has taken some: reads on if none is full. */
void lanes_relieve(struct lanes *ls);
void lane_wants(struct lane *l, bool wants);
/* Puts a frame without a payload. */
void lane_put(struct lane *l, enum wire_type type, uint8_t arg,
	      enum mux_lane state);

#endif
