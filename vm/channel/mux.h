/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes on their way over a shared machine's wire, and each lane's state. They
 * outlive the process, so another one can go on. A frame is put into `out` whole or
 * not at all; one of `in` is dealt with when `in.at` is behind it. A frame may change
 * a lane's state. That is noted first, with the frame's position, and counts only if
 * the frame does.
 */
#ifndef VM_MUX_H
#define VM_MUX_H

#include "guest/wire/wire.h"
#include "ring.h"
#include "tape.h"

#define VM_MUX_IN (256u << 10) /* two frames at least */
#define VM_MUX_OUT (2u << 20)  /* some, a JOB and the frames of closing */

enum mux_lane {
	MUX_FREE,    /* the guest has not heard of it */
	MUX_IDLE,    /* it has no job */
	MUX_BUSY,    /* from JOB until that has ended */
	MUX_CLOSING, /* until CLOSED */
	MUX_LANE_MAX
};

/* A lane's next state, from the time on when a ring has reached `at`. */
struct mux_note {
	uint64_t at;
	uint32_t lane, state;
};

/* No pointer in it is used by anybody but its writer. */
struct vm_mux {
	uint32_t live;   /* the owner's */
	uint32_t shared; /* SHARE is in `out`: another process can go on */
	struct vm_reach reach;
	struct vm_origin origin;
	uint32_t epoch;  /* processes that have had it, before this one */
	uint32_t lane[WIRE_LANE_MAX + 1]; /* enum mux_lane; not 0 */
	struct ring in, out;
	struct mux_note said, heard; /* with out.end, with in.at */

	_Alignas(4096) uint8_t in_room[VM_MUX_IN];
	uint8_t out_room[VM_MUX_OUT];
};

/* All before the bytes themselves: what a new one's owner is to zero. */
#define VM_MUX_HEAD offsetof(struct vm_mux, in_room)

static inline struct ring_room mux_in(struct vm_mux *m)
{
	return (struct ring_room){ m->in_room, VM_MUX_IN };
}

static inline struct ring_room mux_out(struct vm_mux *m)
{
	return (struct ring_room){ m->out_room, VM_MUX_OUT };
}

/* A shared machine begins. */
void mux_begin(struct vm_mux *m);
/* Nobody needs it any more: it takes little memory. */
void mux_end(struct vm_mux *m);
/* Puts a whole frame: the header as wire_lane_put() made it, and what follows.
 * state: of the lane from then on; MUX_LANE_MAX: as it is. *ret_at, if not NULL, is
 * where `out` ends with the frame, and is written before the frame counts. Return: 0
 * or -ENOBUFS. */
int mux_put(struct vm_mux *m, const uint8_t *head, const uint8_t *payload,
	    size_t length, unsigned lane, enum mux_lane state,
	    uint64_t *ret_at);
/* A frame of so many bytes was dealt with, by which the lane has a new state, or
 * MUX_LANE_MAX. */
void mux_eat(struct vm_mux *m, size_t size, unsigned lane, enum mux_lane state);
/* A lane has a new state, by no frame. */
void mux_set(struct vm_mux *m, unsigned lane, enum mux_lane state);

/* Of a process that is dead: *m is made whole. Return: 0 or -EPROTO: it is of no
 * use. */
int mux_recover(struct vm_mux *m);

#endif
