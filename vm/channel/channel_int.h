/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a channel: shared by channel.c (the socket) and the other
 * channel_*.c. All functions run on the loop.
 */
#ifndef VM_CHANNEL_INT_H
#define VM_CHANNEL_INT_H

#include "channel.h"
#include "replay.h"

_Static_assert(VM_REPLAY_STREAMS == VM_STREAM_MAX, "a figure for each");

#define CHANNEL_IN_SIZE (WIRE_HEADER_SIZE + WIRE_PAYLOAD_MAX)

/* Seconds that the guest may be silent in each phase; multiplied by `scale`. */
#define WAIT_HELLO_S 4
/* guests import packages meanwhile; init's own timeout is shorter */
#define WAIT_READY_S 16
#define WAIT_HEAT_S 6
#define WAIT_JOB_S 3
#define WAIT_KILL_S 2
#define WAIT_OUTPUT_S 3
/*
 * The limit for a guest that is not silent but slow: WAIT_WHOLE times the
 * phase's timeout, plus the time that its bytes may take. An entry of the
 * output tree counts as WAIT_ENTRY_BYTES.
 */
#define WAIT_WHOLE 3
#define WAIT_BYTES_PER_S (1u << 20)
#define WAIT_ENTRY_BYTES 4096u

/* A file request's id is its epoch and a number within that. */
#define FS_EPOCH_SHIFT 24
#define FS_NUMBER_MAX ((1u << FS_EPOCH_SHIFT) - 1)

enum send_step {
	SEND_NOTHING,
	SEND_JOB,
	SEND_INPUT, /* next: the FILE frame of input `input`, or RUN */
	SEND_DATA, /* next: FILE_DATA of the open input */
	SEND_STDIN,
	SEND_FEED, /* open standard input, as bytes come */
	SEND_STDIN_END,
};

struct channel {
	struct loop *loop;              /* borrowed */
	const struct channel_events *ev;
	void *arg;
	struct loop_fd sock;            /* the channel owns its fd */
	struct loop_timer deadline;
	/* the loop's next turn handles buffered frames and sends: see channel_wake() */
	struct loop_call wake;
	enum channel_phase phase;
	unsigned scale;
	unsigned busy;                  /* depth of calls that deliver events */
	bool closed; /* channel_free() was called; frees when busy is 0 */
	bool hold; /* channel_hold(): deliver no events now */
	bool eof;
	/* the guest's next action, for the message at a timeout; NULL: no timeout is
	 * set */
	const char *waiting_for;
	uint64_t wait_ns;
	/* last moment of this wait, whatever progress comes */
	uint64_t wait_end_ns;
	/* loop_lost_ns() when lost time was last added to each wait */
	uint64_t lost_ns, fs_lost_ns;

	uint8_t *in; /* owned, CHANNEL_IN_SIZE: a frame that is not complete */
	size_t in_len;
	struct buf out; /* whole frames to send */
	size_t out_at; /* bytes of `out` that were sent */
	/* Unsent bytes of `out` up to and with the first byte of RUN; 0: that byte was
	 * sent, or there is no RUN. */
	size_t run_at;

	const struct vm_job *job;       /* borrowed, NULL before a job */
	const struct vm_events *job_ev;
	void *job_arg;
	unsigned heats; /* HEAT frames that the guest has not answered */

	enum send_step step;
	unsigned input;
	int input_fd;                   /* owned */
	uint64_t input_at;              /* bytes of this input sent */
	/* bytes of standard input: stdin_at were sent, stdin_acked were read in the guest */
	uint64_t stdin_at, stdin_acked;
	struct loop_fd feed; /* watches input_fd while the input has no bytes */
	bool killed; /* the owner asked for signal 9 to all */
	bool cancelled; /* killed before RUN was sent, so the program has not */
	bool has_signal; /* a signal other than 9 waits until STARTED comes */
	enum wire_kill_scope signal_scope;
	unsigned signal;

	uint64_t got[VM_STREAM_MAX];    /* bytes received per stream */
	uint64_t file_left; /* bytes of the present output file still to come */
	uint64_t output_bytes;
	/* entries of the output tree: `files` came, `left` were left out by the guest */
	uint32_t files, left;
	bool in_file, skip_file;
	bool lives; /* EXIT said that the interpreter can run another job */
	bool ended; /* EXIT said that the session can run no more steps */
	bool shared; /* the channel is lane 0 of a shared machine; it runs no job */
	/* the channel is another lane; the guest may send FAILED at any time */
	bool lane;
	bool stalled; /* channel_stall() */

	const struct channel_transport *transport; /* NULL: this channel has a socket */
	void *transport_arg;
	uint32_t fs_epoch; /* epoch of the ids of its file requests */
	bool feeding; /* `out` holds a frame of open standard input */

	/* borrowed: the job's replay buffer; between two jobs that of channel_rest(); or
	 * NULL */
	struct vm_replay *replay;
	/* position in the replay buffer up to which `in` has read */
	uint64_t replay_at;
	bool parsing; /* parse() is running, so in_len is not up to date */
	size_t in_at; /* while parse() runs: end of the present frame in `in` */
	bool marked; /* channel_mark() has filled the next checkpoint */
	/* the replay buffer is full; reading stops until vm_commit_checkpoint() */
	bool full;

	/* requests for files, of channel_fs.c; owned */
	struct list fs_waiting, fs_flight;
	unsigned fs_count, fs_in_flight;
	uint32_t fs_next; /* id of the next request for a file */
	struct loop_timer fs_deadline;
	uint32_t job_mode; /* WIRE_JOB mode of the last job */
	bool job_put; /* a JOB frame was put into `out`, ever */
	bool heard; /* a frame about the job has come */
};

/* Returns the replay buffer of a lane's job, even if it is spoiled; NULL: it
 * has none. */
static inline struct vm_replay *channel_transport_replay(const struct channel *ch)
{
	return ch->transport && ch->job ? ch->job->replay : NULL;
}

/* Ends the channel with a sentence. channel_break() derives `why` from the
 * phase. */
void channel_break(struct channel *ch, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void channel_break_as(struct channel *ch, enum vm_failure why, bool eof,
		      const char *sentence);
/* channel_watch.c. Sets the timer for the present wait; channel_watch_anew()
 * also restarts that wait. */
void channel_watch(struct channel *ch);
void channel_watch_anew(struct channel *ch);
void channel_silence(struct loop_timer *t);
uint64_t channel_worth(const struct channel *ch, size_t bytes);
/* Starts a wait for the guest (what set), or ends it (NULL). */
void channel_wait(struct channel *ch, const char *what, unsigned seconds);
/* Restarts the silence timeout because the guest made progress. worth_ns: added
 * to the whole wait. */
void channel_progress(struct channel *ch, uint64_t worth_ns);
/* Notes that the guest has sent a frame about the job. */
void channel_hear(struct channel *ch);
/* Handles one whole frame of the guest. */
void channel_frame(struct channel *ch, const struct wire_header *h,
		   const uint8_t *payload);
/* Returns the most bytes that the job may send of a stream. */
uint64_t channel_limit(const struct channel *ch, enum vm_stream s);
/* Appends a frame to `out`. */
void channel_put(struct channel *ch, enum wire_type type, uint8_t arg,
		 const void *payload, size_t length);
/* channel_fs.c. Puts the next waiting request. Return: false if none may be put
 * now. */
bool channel_fs_put(struct channel *ch);
/* Handles FS_REPLY. Return: 0, or -EPROTO: it is no answer to a request. */
int channel_fs_reply(struct channel *ch, const uint8_t *payload, size_t length);
/* Restarts the timeout for an answer: one has come, or the guest could not send
 * one. */
void channel_fs_progress(struct channel *ch);
void channel_fs_silence(struct loop_timer *t);
/* Fails all requests. */
void channel_fs_end(struct channel *ch);
/* Puts frames until `out` has enough to write, there is nothing to send, or
 * `until` (now_ns()) is past. */
void channel_fill(struct channel *ch, uint64_t until);
void channel_signal(struct channel *ch, enum wire_kill_scope scope,
		    unsigned sig);
/* Ends open standard input: the program has closed it. */
void channel_feed_end(struct channel *ch);
/* Stops sending the job. */
void channel_send_end(struct channel *ch);
/* channel_transport.c. Like recv(2); and like send(2), of one frame. */
ssize_t channel_transport_take(struct channel *ch, uint8_t *data, size_t size);
ssize_t channel_transport_put(struct channel *ch);
/* channel.c. Makes a channel that is not in the loop yet. It owns fd. NULL
 * without memory. */
struct channel *channel_blank(struct loop *loop, int fd,
			      enum channel_phase phase, unsigned scale,
			      const struct channel_events *ev, void *arg);
/* Ends a call that delivers events (busy). May free the channel. */
void channel_leave(struct channel *ch);
/*
 * Makes room in the replay buffer. Return: true: there is room, or there is no
 * replay buffer any more; false: wait for vm_commit_checkpoint(), or the channel has
 * ended.
 */
bool channel_make_room(struct channel *ch, size_t needed, bool last);
/* Returns whether the replay buffer has bytes that were not read yet. After
 * PHASE_DONE the buffer is its owner's again and may be gone. */
static inline bool channel_is_replaying(const struct channel *ch)
{
	return ch->phase != PHASE_DONE && ch->replay &&
	       ch->replay_at != ch->replay->end;
}
/* True if every frame is sent, and the job has no more to send. */
static inline bool channel_has_sent_all(const struct channel *ch)
{
	return ch->out.len == ch->out_at &&
	       (ch->phase == PHASE_IDLE ||
		(ch->phase >= PHASE_STARTING && ch->step == SEND_NOTHING));
}
/* Sets the job of an adopted channel (the part that all kinds share). */
void channel_take_up(struct channel *ch, const struct vm_job *job,
		     const struct vm_events *ev, void *arg);
/* Adds the socket to the loop again. */
void channel_listen(struct channel *ch);

#endif
