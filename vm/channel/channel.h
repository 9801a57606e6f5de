/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's end of one machine's wire: frames in and out of a nonblocking
 * socket, the order of a machine's life, the waits and the limits. Whatever
 * the guest says is untrusted: a frame that is not legal in the present phase
 * ends the machine by one `broken`, after which the channel is silent.
 */
#ifndef VM_CHANNEL_H
#define VM_CHANNEL_H

#include "layout/base/buf.h"
#include "vm/job.h"
#include "vm/os/loop.h"

struct channel;
struct vm_tape_flow; /* tape.h */

enum channel_phase {
	PHASE_BOOT,       /* nothing heard yet; HELLO comes first */
	PHASE_HELLO,      /* init runs; READY comes next */
	PHASE_IDLE,       /* HEAT or JOB may be sent */
	PHASE_SENDING,    /* JOB was sent, RUN was not */
	PHASE_STARTING,   /* RUN was sent; STARTED comes next */
	PHASE_RUNNING,    /* the program runs */
	PHASE_COLLECTING, /* EXIT came; the output tree is on its way */
	PHASE_DONE,       /* nothing more is read or sent */
	PHASE_MAX
};

/* For the owner. A handler may call channel_free(). */
struct channel_events {
	void (*hello)(void *arg, const char *kernel, const char *image);
	/* cold: see READY in wire.h; "" when all of the environment is warm. */
	void (*ready)(void *arg, uint32_t runners, uint32_t walls,
		      const char *cold);
	void (*heated)(void *arg, uint32_t runners);
	/* Something came of the first job; before it is dealt with. */
	void (*heard)(void *arg);
	void (*finished)(void *arg); /* after the job's own `finished` */
	/* Before the job's own `finished`: its interpreter takes another. */
	void (*lives)(void *arg);
	/* eof: the peer closed the wire; its process may know more. */
	void (*broken)(void *arg, enum vm_failure why, const char *sentence,
		       bool eof);
};

/*
 * phase is PHASE_BOOT for a guest that boots, PHASE_IDLE for a restored one.
 * scale multiplies every wait. Consumes fd also when it fails.
 */
int channel_new(struct loop *loop, int fd, enum channel_phase phase,
		unsigned scale, const struct channel_events *ev, void *arg,
		struct channel **ret);
void channel_free(struct channel *ch);

enum channel_phase channel_phase(const struct channel *ch);
/* Sends OWN: once, to a clone, before its first HEAT or its job. Return: 0 or
 * -EIO, the host has no random bytes; then nothing may run there. */
int channel_own(struct channel *ch);
/* Sends one HEAT; `heated` follows, or `broken` when it takes too long. */
void channel_heat(struct channel *ch, uint32_t runners, uint32_t rounds);
/* Sends the job, its inputs, RUN, its standard input; ev gets what follows,
 * but for `granted` and `failed`, which are the owner's. Phase IDLE only. */
void channel_job(struct channel *ch, const struct vm_job *job,
		 const struct vm_events *ev, void *arg);
/* Goes on with one that was sent all by a process that is dead, from the last
 * point of job->tape on. As channel_new() and channel_job(). */
int channel_adopt(struct loop *loop, int fd, unsigned scale,
		  const struct channel_events *ev, void *arg,
		  const struct vm_job *job, const struct vm_events *job_ev,
		  void *job_arg, struct channel **ret);
/* See vm_mark(). */
void channel_mark(struct channel *ch, const struct vm_tape_flow *flow);
void channel_settle(struct channel *ch);
/* See vm_fs(). */
int channel_fs(struct channel *ch, const struct wire_fs *fs, vm_fs_done *done,
	       void *arg);
void channel_kill(struct channel *ch, enum wire_kill_scope scope,
		  unsigned sig);
void channel_hold(struct channel *ch, bool hold);
/* Instead of a socket: where a lane's frames go to and come from. All are called from
 * inside the channel's own calls, and may call none of them. */
struct channel_far {
	/* Takes the first of whole frames. *ret_at, if not NULL, is to be where the
	 * mux's `out` is behind it, before it counts. Return: its bytes, or -EAGAIN:
	 * channel_pump() follows. */
	ssize_t (*put)(void *arg, const uint8_t *data, uint64_t *ret_at);
	/* Gives what came and was not fed. Return: bytes, or -EAGAIN. */
	ssize_t (*take)(void *arg, uint8_t *data, size_t size);
	void (*took)(void *arg); /* There is room again, perhaps. */
	void (*idle)(void *arg); /* Its job has ended, and another one may come. */
};

/* Of a shared machine, which was stopped: its clock goes forward to the host's. */
void channel_tell_time(struct channel *ch);
/* Puts SHARE and gives its socket up; its files may be asked for from then on. Bytes
 * that were read and not dealt with are appended to in, bytes not sent to out. Return:
 * the socket, which the caller owns, or negative errno. Phase IDLE only. */
int channel_share(struct channel *ch, const struct wire_share *share,
		  const struct channel_far *far, void *arg, struct buf *in,
		  struct buf *out);
/* A channel without a socket. The first is for a lane: its agent in the guest may end by
 * itself. The second is for lane 0 of a machine that is shared already. epoch: a number
 * under which no process has asked for its files yet. */
int channel_new_lane(struct loop *loop, unsigned scale,
		     const struct channel_events *ev, void *arg,
		     const struct channel_far *far, void *far_arg,
		     struct channel **ret);
int channel_new_zero(struct loop *loop, unsigned scale, uint32_t epoch,
		     const struct channel_events *ev, void *arg,
		     const struct channel_far *far, void *far_arg,
		     struct channel **ret);
/* A lane's goes on with a job whose RUN was put by a process that is dead, from the
 * last point of job->tape on. Phase IDLE only. */
void channel_go_on(struct channel *ch, const struct vm_job *job,
		   const struct vm_events *ev, void *arg);
/* A lane's frame, if its job has a tape. last: it need not be for another process.
 * Return: 1: it is on the tape; 0: it has none; -EAGAIN: it is full, and took()
 * follows. */
int channel_feed(struct channel *ch, const uint8_t *head,
		 const uint8_t *payload, size_t length, uint64_t at, bool last);
/* Has the process before put that frame on its tape? */
bool channel_has_fed(const struct channel *ch, uint64_t at);
/* There is something to take, or room to put: soon, or now. */
void channel_wake(struct channel *ch);
void channel_pump(struct channel *ch);
/* It has waited for less than it should: scale is another one from now on. */
void channel_rescale(struct channel *ch, unsigned scale);
/* True: the guest cannot be heard for a while, and is not to blame for it. */
void channel_stall(struct channel *ch, bool stalled);
/* Has its program come to its end, of which nothing lives on that takes a job? */
bool channel_has_ended(const struct channel *ch);
/* Reads and delivers whatever is still in the socket of a dead machine. */
void channel_drain(struct channel *ch);

#endif
