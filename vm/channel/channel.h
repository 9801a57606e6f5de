/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's end of one machine's wire: reads and writes frames on a
 * nonblocking socket, follows the phases of a machine's life, and enforces
 * timeouts and limits. The guest is untrusted: a frame that is not legal in the
 * present phase ends the channel with one `broken` event, after which it calls
 * no more events. All calls are made on the loop.
 */
#ifndef VM_CHANNEL_H
#define VM_CHANNEL_H

#include "layout/base/buf.h"
#include "vm/job.h"
#include "vm/os/loop.h"

struct channel;
struct wire_network;
struct vm_replay_flow; /* declared in replay.h */

enum channel_phase {
	PHASE_BOOT, /* no frame has come; HELLO must be first */
	PHASE_HELLO, /* init runs; READY must be next */
	PHASE_IDLE,       /* HEAT or JOB may be sent */
	PHASE_SENDING,    /* JOB was sent, RUN was not */
	PHASE_STARTING, /* RUN was sent; STARTED must be next */
	PHASE_RUNNING,    /* the program runs */
	PHASE_COLLECTING, /* EXIT came; the output tree is on its way */
	PHASE_DONE,       /* nothing more is read or sent */
	PHASE_MAX
};

/* Callbacks to the owner of the channel. A handler may call channel_free(). */
struct channel_events {
	void (*hello)(void *arg, const char *kernel, const char *image);
	/* cold: see READY in wire.h; "" if all of the environment is warm. */
	void (*ready)(void *arg, uint32_t runners, uint32_t walls,
		      const char *cold);
	void (*heated)(void *arg, uint32_t runners);
	/* The first frame about the job has come and is handled next. */
	void (*heard)(void *arg);
	void (*finished)(void *arg); /* called after the job's own `finished` */
	/* The machine's network helper has ended; its programs run on without. May be
	 * called again by the next server. NULL: not used. */
	void (*network_ended)(void *arg);
	/* Called before the job's own `finished` if its interpreter can run
	 * another job. */
	void (*lives)(void *arg);
	/* eof: the peer closed the wire, so its process may have reported a
	 * reason. */
	void (*broken)(void *arg, enum vm_failure why, const char *sentence,
		       bool eof);
};

/*
 * Makes a channel on fd, which it owns, also on failure. phase: PHASE_BOOT for
 * a guest that boots, PHASE_IDLE for a restored one. scale multiplies every
 * timeout.
 */
int channel_new(struct loop *loop, int fd, enum channel_phase phase,
		unsigned scale, const struct channel_events *ev, void *arg,
		struct channel **ret);
void channel_free(struct channel *ch);

enum channel_phase channel_phase(const struct channel *ch);
/*
 * Sends OWN: once, to a restored or forked guest, before its first HEAT or job.
 * Return: 0, or -EIO if the host has no random bytes; then run nothing in that
 * guest.
 */
int channel_own(struct channel *ch);
/* Sends one HEAT. Later `heated` is called, or `broken` after a timeout. If a job is
 * sent before the guest answers, `heated` is not called for that answer. */
void channel_heat(struct channel *ch, uint32_t runners, uint32_t rounds);
/*
 * Sends NET: what the machine sets up before its programs may have connections. After
 * OWN and before the job or SHARE; on lane 0 of a shared machine at any time. Copies
 * *net. Return: 0, -EINVAL: not now, -E2BIG: it does not fit into a frame, or -ENOMEM.
 */
int channel_network(struct channel *ch, const struct wire_network *net);
/* Sends the job, its inputs, RUN and its standard input. ev gets what follows,
 * except `granted` and `failed`, which the caller calls. PHASE_IDLE only. */
void channel_job(struct channel *ch, const struct vm_job *job,
		 const struct vm_events *ev, void *arg);
/*
 * Continues a job that a dead process had sent completely, from the last
 * checkpoint of job->replay on. Arguments: as for channel_new() and
 * channel_job().
 */
int channel_adopt(struct loop *loop, int fd, unsigned scale,
		  const struct channel_events *ev, void *arg,
		  const struct vm_job *job, const struct vm_events *job_ev,
		  void *job_arg, struct channel **ret);
/* Adopts a machine that rests between two jobs; then channel_job() may send the next. */
int channel_adopt_idle(struct loop *loop, int fd, unsigned scale,
		       const struct channel_events *ev, void *arg,
		       struct vm_replay *replay, struct channel **ret);
/* See vm_rest(). replay->reach is filled in already. No-op except in PHASE_IDLE. */
void channel_rest(struct channel *ch, struct vm_replay *replay);
/* See vm_mark(). */
void channel_mark(struct channel *ch, const struct vm_replay_flow *flow);
void channel_commit_checkpoint(struct channel *ch);
/* See vm_fs(). */
int channel_fs(struct channel *ch, const struct wire_fs *fs, vm_fs_done *done,
	       void *arg);
void channel_kill(struct channel *ch, enum wire_kill_scope scope,
		  unsigned sig);
void channel_hold(struct channel *ch, bool hold);
/* A transport that a lane's channel uses instead of a socket. The channel calls
 * these functions inside its own calls, so they must not call the channel. */
struct channel_transport {
	/*
	 * Takes the first frame of data, which holds whole frames. If ret_at is
	 * not NULL, *ret_at gets the position of the end of that frame in the
	 * mux's `out`, and is stored before the frame counts. Return: the
	 * frame's bytes, or -EAGAIN: channel_pump() will follow.
	 */
	ssize_t (*put)(void *arg, const uint8_t *data, uint64_t *ret_at);
	/* Copies bytes that have come for the channel. Return: bytes, or
	 * -EAGAIN. */
	ssize_t (*take)(void *arg, uint8_t *data, size_t size);
	/* The channel has consumed bytes, so there may be space again. */
	void (*took)(void *arg);
	/* The channel's job has ended, and another one may come. */
	void (*idle)(void *arg);
};

/* Sets the clock of a shared machine, which was stopped, to the host's. */
void channel_tell_time(struct channel *ch);
/*
 * Sends SHARE and hands over the socket; from then on this channel only serves
 * requests for files. Appends bytes that were read and not handled to in, and
 * bytes that were not sent to out. Return: the socket, which the caller then
 * owns, or negative errno. PHASE_IDLE only.
 */
int channel_share(struct channel *ch, const struct wire_share *share,
		  const struct channel_transport *transport, void *arg, struct buf *in,
		  struct buf *out);
/*
 * Make a channel without a socket. channel_new_lane(): for a lane; its agent in
 * the guest may end on its own. channel_new_zero(): for lane 0 of a machine
 * that is already shared. epoch: a number that no process has used yet to ask
 * that machine for files.
 */
int channel_new_lane(struct loop *loop, unsigned scale,
		     const struct channel_events *ev, void *arg,
		     const struct channel_transport *transport, void *transport_arg,
		     struct channel **ret);
int channel_new_zero(struct loop *loop, unsigned scale, uint32_t epoch,
		     const struct channel_events *ev, void *arg,
		     const struct channel_transport *transport, void *transport_arg,
		     struct channel **ret);
/* As channel_adopt(), for the channel of a lane. PHASE_IDLE only. */
void channel_go_on(struct channel *ch, const struct vm_job *job,
		   const struct vm_events *ev, void *arg);
/*
 * Adds a frame to the replay buffer of the lane's job. last: add it even if no
 * room is left for another process to continue. Return: 1: added; 0: the job
 * has no replay buffer; -EAGAIN: the buffer is full, and took() will follow.
 */
int channel_feed(struct channel *ch, const uint8_t *head,
		 const uint8_t *payload, size_t length, uint64_t at, bool last);
/* Returns whether the dead process has already added that frame to the replay
 * buffer. */
bool channel_has_fed(const struct channel *ch, uint64_t at);
/* Call one of these when the transport has bytes to take or room for a frame.
 * channel_wake() moves them in the loop's next turn, channel_pump() sends at once. */
void channel_wake(struct channel *ch);
void channel_pump(struct channel *ch);
/* Changes the scale of every timeout, also of the present one. */
void channel_rescale(struct channel *ch, unsigned scale);
/* Stops the timeouts (stalled: the host does not read from the guest now), or continues
 * them. */
void channel_stall(struct channel *ch, bool stalled);
/* Returns whether the lane's program has ended and left no interpreter for
 * another job. */
bool channel_has_ended(const struct channel *ch);
/* Reads and delivers whatever is still in the socket of a dead machine. */
void channel_drain(struct channel *ch);

#endif
