/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of a shared machine's wire, and the state of each of its lanes, in
 * memory that outlives the process, so that another one can adopt the machine.
 *
 * A frame is put into `out` whole or not at all. A frame of `in` counts as
 * handled when `in.at` is behind it. If a frame changes a lane's state, a note
 * with the frame's position is written first; the note is valid only if the
 * ring reaches that position.
 */
#ifndef VM_MUX_H
#define VM_MUX_H

#include "guest/wire/wire.h"
#include "ring.h"
#include "replay.h"

#define VM_MUX_IN (256u << 10) /* bytes; room for at least two frames */
/* several frames: a JOB, and those that close a lane */
#define VM_MUX_OUT (2u << 20)

enum mux_lane {
	MUX_FREE, /* the guest does not know the lane */
	MUX_IDLE, /* open, without a job */
	MUX_BUSY, /* a job was sent and has not ended */
	MUX_CLOSING, /* CLOSE was put; until CLOSED comes */
	MUX_LANE_MAX
};

/* A change of a lane's state that is valid once a ring has reached `at`. */
struct mux_note {
	uint64_t at;
	uint32_t lane, state;
};

/* Pointers in it are valid only in the process that wrote them. */
struct vm_mux {
	uint32_t live; /* used by the owner only */
	/* SHARE is in `out`: another process can adopt the machine */
	uint32_t shared;
	struct vm_reach reach;
	struct vm_origin origin;
	/* number of processes that have used it before this one */
	uint32_t epoch;
	/* enum mux_lane; that of lane 0 is not used */
	uint32_t lane[WIRE_LANE_MAX + 1];
	struct ring in, out;
	/* `said` is valid once out.end has reached its position, `heard` once in.at has. */
	struct mux_note said, heard;

	_Alignas(4096) uint8_t in_room[VM_MUX_IN];
	uint8_t out_room[VM_MUX_OUT];
};

/* Size of all before the rings' bytes. Zero this much before the first use. */
#define VM_MUX_HEAD offsetof(struct vm_mux, in_room)

static inline struct ring_room mux_in(struct vm_mux *m)
{
	return (struct ring_room){ m->in_room, VM_MUX_IN };
}

static inline struct ring_room mux_out(struct vm_mux *m)
{
	return (struct ring_room){ m->out_room, VM_MUX_OUT };
}

/* Resets the mux for a new shared machine. */
void mux_begin(struct vm_mux *m);
/* Ends the use of the mux, and gives its pages back to the system. */
void mux_end(struct vm_mux *m);
/*
 * Puts a whole frame: the header as wire_lane_put() made it, and the payload.
 * state: the lane's from then on; MUX_LANE_MAX: unchanged. If ret_at is not
 * NULL, *ret_at gets the position of the frame's end in `out`, and is written
 * before the frame counts. Return: 0 or -ENOBUFS.
 */
int mux_put(struct vm_mux *m, const uint8_t *head, const uint8_t *payload,
	    size_t length, unsigned lane, enum mux_lane state,
	    uint64_t *ret_at);
/*
 * Drops a handled frame of size bytes from `in`. state: the lane's from then on;
 * MUX_LANE_MAX: unchanged.
 */
void mux_eat(struct vm_mux *m, size_t size, unsigned lane, enum mux_lane state);
/* Changes a lane's state without a frame. */
void mux_set(struct vm_mux *m, unsigned lane, enum mux_lane state);

/* Completes what a dead process had begun. Return: 0 or -EPROTO: *m is not
 * usable. */
int mux_recover(struct vm_mux *m);

#endif
