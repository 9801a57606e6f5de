/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by channel.c (socket) and the channel_*.c. */
#ifndef VM_CHANNEL_INT_H
#define VM_CHANNEL_INT_H

#include "channel.h"
#include "tape.h"

_Static_assert(VM_TAPE_STREAMS == VM_STREAM_MAX, "a figure for each");

#define CHANNEL_IN_SIZE (WIRE_HEADER_SIZE + WIRE_PAYLOAD_MAX)

/* How long a silent guest is believed in, before the accelerator's factor. */
#define WAIT_HELLO_S 4
#define WAIT_READY_S 16 /* an environment imports; init itself gives up before */
#define WAIT_HEAT_S 6
#define WAIT_JOB_S 3
#define WAIT_KILL_S 2
#define WAIT_OUTPUT_S 3
/* And one that does something now and then: so many of these waits in all, and
 * the time that its bytes may take; an entry of the tree is worth some more. */
#define WAIT_WHOLE 3
#define WAIT_BYTES_PER_S (1u << 20)
#define WAIT_ENTRY_BYTES 4096u

/* The ids of requests for files: a number within an epoch. */
#define FS_EPOCH_SHIFT 24
#define FS_NUMBER_MAX ((1u << FS_EPOCH_SHIFT) - 1)

enum send_step {
	SEND_NOTHING,
	SEND_JOB,
	SEND_INPUT,     /* the FILE frame of input `input` is next, or RUN */
	SEND_DATA,      /* FILE_DATA of the open input */
	SEND_STDIN,
	SEND_FEED,      /* standard input as it comes */
	SEND_STDIN_END,
};

struct channel {
	struct loop *loop;              /* borrowed */
	const struct channel_events *ev;
	void *arg;
	struct loop_fd sock;            /* its fd is owned */
	struct loop_timer deadline;
	struct loop_call wake;          /* pump, and parse what hold kept */
	enum channel_phase phase;
	unsigned scale;
	unsigned busy;                  /* depth of calls that deliver events */
	bool closed;                    /* freed as soon as busy is 0 */
	bool hold;                      /* the owner wants no events now */
	bool eof;
	const char *waiting_for;        /* NULL: no deadline */
	uint64_t wait_ns;
	uint64_t wait_end_ns;           /* whatever it does until then */
	uint64_t lost_ns, fs_lost_ns;   /* loop_lost_ns() that each has */

	uint8_t *in;                    /* owned, CHANNEL_IN_SIZE */
	size_t in_len;
	struct buf out;                 /* whole frames, not written yet */
	size_t out_at;                  /* bytes of out already written */
	size_t run_at;                  /* where RUN is in what is not, from 1
					   on; 0: it is not there */

	const struct vm_job *job;       /* borrowed, NULL before a job */
	const struct vm_events *job_ev;
	void *job_arg;
	unsigned heats;                 /* HEAT frames not answered */

	enum send_step step;
	unsigned input;
	int input_fd;                   /* owned */
	uint64_t input_at;              /* bytes of this input sent */
	uint64_t stdin_at, stdin_acked; /* bytes of standard input sent, taken */
	struct loop_fd feed;            /* input_fd, while it has nothing */
	bool killed;                    /* signal 9 to all was asked for */
	bool cancelled;                 /* ... before RUN: nothing has run */
	bool has_signal;                /* a gentler one waits for STARTED */
	enum wire_kill_scope signal_scope;
	unsigned signal;

	uint64_t got[VM_STREAM_MAX];    /* bytes received per stream */
	uint64_t file_left;             /* of the file that is coming */
	uint64_t output_bytes;
	uint32_t files, left; /* entries sent, told of as left out */
	bool in_file, skip_file;
	bool lives;                     /* EXIT said so */
	bool ended;                     /* EXIT came and said otherwise */
	bool shared;                    /* lane 0: it has no job */
	bool lane;                      /* another one: it may fail at any time */
	bool stalled;                   /* the guest is not heard */

	const struct channel_far *far;  /* NULL: it has a socket */
	void *far_arg;
	uint32_t fs_epoch;              /* of the ids that it asks with */
	bool feeding;                   /* a frame of open input is in out */

	struct vm_tape *tape;           /* borrowed: the job's, or NULL */
	uint64_t tape_at;               /* of it, what `in` has had */
	bool parsing;                   /* in_len is not true */
	bool marked;                    /* its draft is a point */
	bool full;                      /* it is not read on until vm_settle() */

	struct list fs_waiting, fs_flight; /* channel_fs.c's, owned */
	unsigned fs_count, fs_in_flight;
	uint32_t fs_next;               /* the next request's id */
	struct loop_timer fs_deadline;
	uint32_t job_mode;              /* of the last job */
	bool job_put;                   /* a JOB frame is in out, or was */
	bool heard;                     /* a frame of the job has come */
};

/* The tape of a lane's job, also when that is spoiled; NULL: it has none. */
static inline struct vm_tape *channel_far_tape(const struct channel *ch)
{
	return ch->far && ch->job ? ch->job->tape : NULL;
}

/* Ends the channel with a sentence; why follows from the phase. */
void channel_break(struct channel *ch, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void channel_break_as(struct channel *ch, enum vm_failure why, bool eof,
		      const char *sentence);
/* channel_watch.c. The deadline is set by what holds now; or as of a new wait. */
void channel_watch(struct channel *ch);
void channel_watch_anew(struct channel *ch);
void channel_silence(struct loop_timer *t);
uint64_t channel_worth(const struct channel *ch, size_t bytes);
/* Starts (what set) or ends (NULL) the watch over the guest's silence. */
void channel_wait(struct channel *ch, const char *what, unsigned seconds);
/* The guest did something that may take so long: the watch starts again. */
void channel_progress(struct channel *ch, uint64_t worth_ns);
/* The guest has sent something. */
void channel_hear(struct channel *ch);
/* One whole frame from the guest. */
void channel_frame(struct channel *ch, const struct wire_header *h,
		   const uint8_t *payload);
/* The most bytes of a stream of its job. */
uint64_t channel_limit(const struct channel *ch, enum vm_stream s);
/* Puts a frame into out. */
void channel_put(struct channel *ch, enum wire_type type, uint8_t arg,
		 const void *payload, size_t length);
/* channel_fs.c. A request that waits is put: false if none may be now. */
bool channel_fs_put(struct channel *ch);
/* FS_REPLY. Return: 0, or -EPROTO: it answers nothing that was asked. */
int channel_fs_reply(struct channel *ch, const uint8_t *payload, size_t length);
/* The wait for an answer starts again: one came, or none could. */
void channel_fs_progress(struct channel *ch);
void channel_fs_silence(struct loop_timer *t);
/* No answer will come any more. */
void channel_fs_end(struct channel *ch);
/* Puts frames until there is enough to write, or nothing more to say. */
void channel_fill(struct channel *ch, uint64_t until);
void channel_signal(struct channel *ch, enum wire_kill_scope scope,
		    unsigned sig);
/* The program has closed its standard input. */
void channel_feed_end(struct channel *ch);
/* Nothing more is to be sent of the job. */
void channel_send_end(struct channel *ch);
/* channel_far.c. As recv(2) and, of one frame, as send(2). */
ssize_t channel_take_far(struct channel *ch, uint8_t *data, size_t size);
ssize_t channel_put_far(struct channel *ch);
/* channel.c. One that hears nothing yet; it owns fd. NULL without memory. */
struct channel *channel_blank(struct loop *loop, int fd,
			      enum channel_phase phase, unsigned scale,
			      const struct channel_events *ev, void *arg);
/* busy is one less: it may be gone behind that. */
void channel_leave(struct channel *ch);
/* The tape has less room than is needed. Return: true: there is some, or there is no
 * tape any more; false: not yet, or the channel has ended. */
bool channel_make_room(struct channel *ch, size_t needed, bool last);
/* Once it is over the tape is its owner's, and perhaps gone. */
static inline bool channel_is_on_tape(const struct channel *ch)
{
	return ch->phase != PHASE_DONE && ch->tape &&
	       ch->tape_at != ch->tape->end;
}
/* What every channel that goes on with a job knows. */
void channel_take_up(struct channel *ch, const struct vm_job *job,
		     const struct vm_events *ev, void *arg);
/* It is listened to again. */
void channel_listen(struct channel *ch);

#endif
