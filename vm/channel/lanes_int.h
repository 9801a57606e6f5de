/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by lanes.c (numbers, opening, closing) and lanes_move.c (bytes). */
#ifndef VM_LANES_INT_H
#define VM_LANES_INT_H

#include "channel_int.h"
#include "lanes.h"

#define LANES_IN_SIZE (2 * CHANNEL_IN_SIZE)
#define LANES_TURN_NS (2 * NS_PER_MS)

struct lane {
	struct lanes *of;
	uint8_t number;
	struct channel *ch;      /* owned, but lane 0's; NULL: closed */
	struct loop_fd sock;     /* the other end of its; fd is owned */
	struct buf in;           /* from its channel, not moved yet */
	struct buf out;          /* for its channel, not taken yet */
	bool begun;              /* the guest has heard of it */
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
	uint8_t *in;             /* owned, LANES_IN_SIZE */
	size_t in_len;
	struct buf out;          /* whole frames, but for what was begun */
	struct lane *lane[WIRE_LANE_MAX + 1]; /* owned; NULL: not open */
	unsigned next;           /* whose turn it is to send */
	bool heard;              /* ev's was called */
	bool stalled;            /* the machine is not read: a lane is full, */
	bool paused;             /* or it is stopped */
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
/* The last thing that a handler of the loop does: tells of a fault. */
void lanes_settle(struct lanes *ls);

/* --- lanes_move.c -------------------------------------------------------------- */

void lanes_on_wire(struct loop_fd *src, uint32_t events);
void lanes_on_lane(struct loop_fd *src, uint32_t events);
void lanes_on_wake(struct loop_call *c);
/* One read of the machine's socket and what comes of it. Return: false when
 * there is no more now. */
bool lanes_read(struct lanes *ls, uint64_t until);
/* Writes the frames that wait for the lane's channel, as much as its socket takes. */
void lane_write(struct lane *l);
/* A lane takes no part any more, or has taken some: reads on if none is full. */
void lanes_relieve(struct lanes *ls);

#endif
