/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replay buffer of a job: the bytes that its machine sent, in memory that
 * outlives this process, so that another process can continue the job. One
 * system call moves bytes from the wire into the buffer and stores their count
 * there. So whenever this process is killed, each byte is either in the buffer
 * or still in the socket.
 *
 * A replay buffer begins with the job and has VM_REPLAY_ROOM bytes. Now and then
 * its owner sets a checkpoint: everything up to a frame is stored, so the bytes
 * before it are dropped. The next server starts at the last checkpoint and
 * reads the rest again. It must therefore accept bytes that were stored
 * already. All calls are made on the loop.
 *
 * A machine that waits for the next step of its session has a replay buffer too,
 * without a job: see channel_rest(). Its checkpoint has PHASE_IDLE, and follows each
 * frame that was handled.
 */
#ifndef VM_REPLAY_H
#define VM_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define VM_REPLAY_ROOM (512u << 10)
#define VM_REPLAY_STREAMS 3 /* equals VM_STREAM_MAX */
#define VM_REPLAY_CONFIG 8

/* Keys under which vm_keep stored a machine's descriptors: its jailer's socket,
 * its wire, its monitor, the account of its relay. 0: not stored. */
struct vm_keys {
	uint64_t jail, wire, monitor, account;
};

/* The data by which another process reaches a machine. */
struct vm_reach {
	struct vm_keys keys;
	uint32_t slot; /* the machine's slot number in its jailer */
	uint32_t relay; /* that of its relay; 0: it has none */
};

/* Facts of the lease and of the machine's class, for the process that adopts
 * it. */
struct vm_origin {
	uint32_t source, accel, scale;
	uint32_t memory_mib, cpus;
	char template_id[20];
};

/* Bytes of stdout and stderr at a checkpoint. taken: stored or about to be; dropped: left
 * out, for a limit. Written by the owner. */
struct vm_replay_flow {
	uint64_t taken[2], dropped[2];
};

struct vm_checkpoint {
	uint64_t at; /* bytes that had come of the wire since the job began */
	uint64_t got[VM_REPLAY_STREAMS];
	uint64_t stdin_acked;
	uint32_t phase; /* enum channel_phase */
	uint32_t heats; /* HEAT frames that had no answer yet */
	struct vm_replay_flow flow;
};

#define VM_REPLAY_FEED (64u << 10) /* WIRE_STDIN_WINDOW */

/* Open standard input on its way from the socket that users' writes go to.
 * Bytes lie here until they are in a frame. */
struct vm_replay_feed {
	/* bytes of standard input, since the job began, that are in frames put into
	 * the mux's `out` */
	uint64_t put;
	/* The next value of `put`, valid when that `out` has reached position
	 * `at`; 0: none. */
	uint64_t next, at;
	struct mmsghdr call; /* the call that receives; its msg_len: how many bytes are in
			      * feed_bytes */
};

/* Pointers in it are valid only in the process that wrote them. */
struct vm_replay {
	/* set and read by the owner, like those up to timed_out */
	uint32_t live;
	uint32_t run;
	uint64_t job;
	uint64_t queued_ns, granted_ns, started_ns; /* CLOCK_MONOTONIC */
	uint64_t started_real_ns;
	/* Bytes of memory that the job's run has reserved. */
	uint64_t memory;
	/* Processors that the job's run has reserved. */
	uint32_t places;
	uint32_t cancelled, timed_out;
	/* Set if bytes were lost or the stored ones are not those that came: no
	 * process can continue the job. */
	uint32_t spoiled;
	uint64_t stdin_size;
	/* the owner's: must be the same in the next server */
	uint64_t config[VM_REPLAY_CONFIG];
	char language[16];

	struct vm_reach reach;
	uint32_t sent; /* every frame to the machine was sent whole, with all inputs */
	struct vm_origin origin;

	uint64_t end; /* bytes that have come since the job began */
	uint64_t read_at; /* `end` before the last read began */
	/* argument of that read; its msg_len counts the bytes */
	struct mmsghdr read;
	/* index of the valid checkpoint; the other one is a draft */
	uint32_t which;
	/* Servers that have tried to start the program, counted by the owner
	 * until RUN is sent. Servers of an older version leave it 0. */
	uint32_t begin_tries;
	struct vm_checkpoint point[2];

	/* The environment of its machine, set by the owner. Servers of an older
	 * version leave both empty. */
	char environment_id[68], environment_name[68];

	/* Where its job runs in a shared machine. All 0: the job has a machine of its own
	 * and is no session's step. The owner sets sandbox, seat and step. */
	uint64_t sandbox, seat;
	uint64_t step;  /* number of the session's step, from 1 */
	uint32_t epoch; /* servers that had the machine before this one */
	uint32_t lane;
	/* the program's pid in the machine, valid once started_ns is set */
	uint32_t pid;
	/* the writers have closed the open standard input */
	uint32_t feed_ended;
	/* End of RUN in the mux's `out`; 0: RUN was not put. */
	uint64_t run_at;
	/* End of its last frame in the mux's `in`, and the value of `end` after
	 * it. */
	uint64_t fed_at, fed_end;
	struct vm_replay_feed feed;
	/* The owner's: id of the last write to the open standard input. */
	uint64_t feed_unique;
	/* How many bytes of that write were taken (msg_len). */
	struct mmsghdr feed_write;

	_Alignas(4096) uint8_t room[VM_REPLAY_ROOM];
	uint8_t feed_bytes[VM_REPLAY_FEED];
};

/* Size of all before the bytes. Zero this much before the first use. */
#define VM_REPLAY_HEAD offsetof(struct vm_replay, room)

/* Notes that the program may have begun from now on, in this machine or an
 * earlier one. */
void replay_mark_begun(struct vm_replay *t);
/*
 * For the replay buffer of a dead process. Return: how many servers have tried
 * to start its program, if none can have succeeded; 0: the program may have
 * begun.
 */
unsigned replay_tries(const struct vm_replay *t);
/* Removes the keys of the machine's descriptors, so that no other process adopts it. */
void replay_invalidate(struct vm_replay *t);
/* Starts the buffer of a job, with p as its checkpoint. data: bytes of the next
 * frame that had come before; at most VM_REPLAY_ROOM. */
void replay_begin(struct vm_replay *t, const struct vm_checkpoint *p,
		  const uint8_t *data, size_t size);
/*
 * Reads up to size bytes at position *at and moves it: first bytes that are in
 * the buffer, then those of sock. Return: bytes; 0: the end of sock; -ENOBUFS:
 * the buffer is full; another negative errno of recv(2), -EAGAIN included.
 */
ssize_t replay_take(struct vm_replay *t, uint64_t *at, int sock, uint8_t *data,
		    size_t size);
/* Reads bytes that are in the buffer at position *at and moves it. Return:
 * bytes; 0: none. */
size_t replay_read(const struct vm_replay *t, uint64_t *at, uint8_t *data,
		   size_t size);
/* Adds a frame of a lane's job. at: the frame's end in the mux's `in`. Return:
 * 0, or -ENOBUFS: the buffer is full. */
int replay_feed(struct vm_replay *t, const uint8_t *head, const uint8_t *payload,
		size_t length, uint64_t at);
/* For the replay buffer of a dead process: returns whether it has the frame
 * that ends at position `at` of the mux's `in`. */
bool replay_has_fed(const struct vm_replay *t, uint64_t at);
/*
 * Receives from sock, a nonblocking socket, the bytes of the next frame of open
 * standard input. Returns the same bytes again until replay_feed_put(). Return:
 * bytes, 0: its end, or negative errno.
 */
ssize_t replay_feed_receive(struct vm_replay *t, int sock, size_t size);
/* Call it before a frame of length bytes is put; then set feed.at to the
 * frame's end in `out`. */
void replay_feed_put(struct vm_replay *t, size_t length);
/* Call it when that frame is in `out`. */
void replay_feed_done(struct vm_replay *t);
static inline const struct vm_checkpoint *replay_checkpoint(const struct vm_replay *t)
{
	return &t->point[t->which];
}
static inline size_t replay_left(const struct vm_replay *t)
{
	return VM_REPLAY_ROOM - (size_t)(t->end - replay_checkpoint(t)->at);
}
/* The checkpoint that replay_commit() makes valid. */
static inline struct vm_checkpoint *replay_draft(struct vm_replay *t)
{
	return &t->point[!t->which];
}
void replay_commit(struct vm_replay *t);

/*
 * Completes what a dead process had begun; that process may itself have adopted
 * the job.
 * Return: 0 or -EPROTO: *t is not usable.
 */
int replay_recover(struct vm_replay *t);
/* The same for a job on a lane. Call it before anything is put into the
 * machine's `out`, which ends at out_end. */
int replay_recover_lane(struct vm_replay *t, uint64_t out_end);
/* Returns whether the buffer has all that a machine sends about a job.
 * without_output: the job asked for no output tree. */
bool replay_is_whole(const struct vm_replay *t, bool without_output);

#endif
