/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire of a shared machine: several lanes, each of them the life of a wire
 * from JOB on (guest/wire/wire.h). A lane's host end is a channel without a socket; frames
 * move between it and the machine's socket, and their headers say which lane they are
 * of. Lane 0 is the machine's own channel. What is on its way lies in memory that
 * may outlive this process (mux.h). Frames that a lane does not take wait, up to a
 * bound; behind it the machine is not read until that lane has taken some.
 */
#ifndef VM_LANES_H
#define VM_LANES_H

#include "channel.h"

struct lanes;
struct lane;
struct vm_mux;

/* No handler is called from inside a call of this header, but of lanes_drain().
 * A handler of `broken` may call lanes_free(). */
struct lanes_events {
	/* Something came but the answer to a HEAT; once. */
	void (*heard)(void *arg);
	/* No lane hears anything any more. eof: the peer closed the wire. */
	void (*broken)(void *arg, const char *sentence, bool eof);
};

/*
 * Sends SHARE by ch, takes its socket and gives it lane 0. scale multiplies the
 * wait for CLOSED. ch is borrowed. mux is borrowed, or NULL: no other process is to
 * go on. Return: 0 or negative errno; then ch is of no use.
 */
int lanes_new(struct loop *loop, struct channel *ch,
	      const struct wire_share *share, struct vm_mux *mux,
	      unsigned scale, const struct lanes_events *ev, void *arg,
	      struct lanes **ret);
/*
 * Goes on with those of a process that is dead; mux was recovered, and is borrowed.
 * Consumes wire. ch_ev, ch_arg: of lane 0's channel, which is *ret_ch and the
 * caller's. Nothing moves before lanes_go(): the lanes that nobody has claimed until
 * then are closed. Return: 0 or negative errno.
 */
int lanes_adopt(struct loop *loop, int wire, struct vm_mux *mux,
		unsigned scale, const struct lanes_events *ev, void *arg,
		const struct channel_events *ch_ev, void *ch_arg,
		struct lanes **ret, struct channel **ret_ch);
void lanes_go(struct lanes *ls);
/* Frees every lane and its channel too, but the machine's own. */
void lanes_free(struct lanes *ls);
/* The machine is stopped, or goes on: it is not heard meanwhile, and it is not late. */
void lanes_pause(struct lanes *ls, bool pause);
/* Delivers what is still in the socket of a dead machine, each lane its own. */
void lanes_drain(struct lanes *ls);

/* ev, arg: of the lane's channel, which is idle. Return: 0, -EMFILE: no number
 * is free, or another negative errno. */
int lanes_open(struct lanes *ls, const struct channel_events *ev, void *arg,
	       struct lane **ret);
/*
 * Takes a lane that the process before had open. With a job it goes on with that: its
 * RUN was put, and its tape is recovered. Without one the lane must be idle. If
 * `aborts`, a lane whose job got no RUN is made idle by ABORT. Return: 0, -ESRCH: it
 * is not so, or another negative errno.
 */
int lanes_claim(struct lanes *ls, unsigned number, const struct vm_job *job,
		const struct vm_events *job_ev, void *job_arg, bool aborts,
		const struct channel_events *ev, void *arg, struct lane **ret);
/* Borrowed until lane_close(). */
struct channel *lane_channel(const struct lane *lane);
unsigned lane_number(const struct lane *lane);
/* Ends its channel, and in the guest whatever the lane still runs. Processes that an
 * ended program has left live on. */
void lane_close(struct lane *lane);

#endif
