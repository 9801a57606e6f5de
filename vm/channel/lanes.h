/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire of a shared machine. It carries several lanes; each lane is like the
 * wire of a machine with one job (guest/wire/wire.h). The host's end of a lane
 * is a channel without a socket. lanes moves frames between the channels and
 * the machine's socket; a frame's header names its lane. Lane 0 is the
 * machine's own channel, for files.
 *
 * Bytes under way lie in memory that may outlive this process (mux.h). Frames
 * that a channel does not take wait, up to a bound; then the machine is not
 * read until that channel has taken some. All calls are made on the loop.
 */
#ifndef VM_LANES_H
#define VM_LANES_H

#include "channel.h"

struct lanes;
struct lane;
struct vm_mux;

/* Handlers are called from no call of this header except lanes_drain().
 * `broken` may call lanes_free(). */
struct lanes_events {
	/* A frame other than the answer to a HEAT has come; called once. */
	void (*heard)(void *arg);
	/* All lanes have ended. eof: the peer closed the wire. */
	void (*broken)(void *arg, const char *sentence, bool eof);
};

/*
 * Makes a machine shared: sends SHARE by ch, takes its socket and makes ch lane
 * 0. ch is borrowed. mux is borrowed; NULL: no other process can adopt the
 * machine. scale multiplies the timeout for CLOSED. Return: 0 or negative
 * errno; then free ch, it is not usable.
 */
int lanes_new(struct loop *loop, struct channel *ch,
	      const struct wire_share *share, struct vm_mux *mux,
	      unsigned scale, const struct lanes_events *ev, void *arg,
	      struct lanes **ret);
/*
 * Adopts the wire of a dead process. mux was recovered before; borrowed.
 * Consumes wire. ch_ev, ch_arg: for lane 0's channel, which the caller gets in
 * *ret_ch and owns. Claim the lanes, then call lanes_go(): it closes the lanes
 * that were not claimed, and bytes move from then on. Return: 0 or negative
 * errno.
 */
int lanes_adopt(struct loop *loop, int wire, struct vm_mux *mux,
		unsigned scale, const struct lanes_events *ev, void *arg,
		const struct channel_events *ch_ev, void *ch_arg,
		struct lanes **ret, struct channel **ret_ch);
void lanes_go(struct lanes *ls);
/* Frees every lane and its channel, except lane 0's. */
void lanes_free(struct lanes *ls);
/* Tells lanes that the machine is stopped or continues. Timeouts rest while it
 * is stopped. */
void lanes_pause(struct lanes *ls, bool pause);
/* Delivers to each lane what is still in the socket of a dead machine. */
void lanes_drain(struct lanes *ls);

/* Opens a lane. ev, arg: for the lane's channel, which is idle. Return: 0,
 * -EMFILE: no number is free, or another negative errno. */
int lanes_open(struct lanes *ls, const struct channel_events *ev, void *arg,
	       struct lane **ret);
/*
 * Takes over a lane that the dead process had open. With a job: its RUN was
 * put, its replay buffer is recovered, and the job continues. Without one: the
 * lane must be idle. aborts: a lane whose job got no RUN is made idle by ABORT.
 * Return: 0, -ESRCH: the lane is in another state, or another negative errno.
 */
int lanes_claim(struct lanes *ls, unsigned number, const struct vm_job *job,
		const struct vm_events *job_ev, void *job_arg, bool aborts,
		const struct channel_events *ev, void *arg, struct lane **ret);
/* The lane's channel; borrowed until lane_close(). */
struct channel *lane_channel(const struct lane *lane);
unsigned lane_number(const struct lane *lane);
/* Ends the lane's channel, and in the guest the program that the lane still
 * runs. Processes that an ended program left behind live on. */
void lane_close(struct lane *lane);

#endif
