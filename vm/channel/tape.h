/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine has said of a job, in memory that outlives this process, so
 * that another one can go on listening. Bytes come from the wire straight onto
 * the tape, by one call that also counts them there: whenever this process is
 * killed, each byte is either on the tape or still in the socket.
 *
 * A tape begins with the job. It is as long as VM_TAPE_ROOM, so now and then its
 * owner says that all up to a frame is in the store (a point), and what lies
 * before that is given up. Whoever takes over begins at the last point and hears
 * the rest again: it must bear to hear what it has stored already.
 */
#ifndef VM_TAPE_H
#define VM_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define VM_TAPE_ROOM (512u << 10)
#define VM_TAPE_STREAMS 3 /* VM_STREAM_MAX */
#define VM_TAPE_CONFIG 8

/* What vm_keep was told of a machine's: its jailer's socket, its wire, its
 * monitor. 0: there is none. */
struct vm_keys {
	uint64_t jail, wire, monitor;
};

/* How another process reaches a machine. */
struct vm_reach {
	struct vm_keys keys;
	uint32_t cell; /* its number with its jailer */
};

/* What a lease and its machine's class say of the machine. */
struct vm_origin {
	uint32_t source, accel, scale;
	uint32_t memory_mib, cpus;
	char template_id[20];
};

/* Of stdout and stderr, at a point: bytes that are kept or about to be, and
 * those that were left out. The owner's figures. */
struct vm_tape_flow {
	uint64_t taken[2], dropped[2];
};

struct vm_tape_point {
	uint64_t at; /* bytes of the wire before it, from the job on */
	uint64_t got[VM_TAPE_STREAMS];
	uint64_t stdin_acked;
	uint32_t phase; /* enum channel_phase */
	uint32_t heats; /* HEAT frames that were not answered */
	struct vm_tape_flow flow;
};

#define VM_TAPE_FEED (64u << 10) /* WIRE_STDIN_WINDOW */

/* Open standard input on its way from the socket that is written to: what lies here
 * is not in a frame yet. */
struct vm_tape_feed {
	uint64_t put;        /* bytes that are in frames of the mux's `out`, */
	uint64_t next, at;   /* or are when that has come to `at`; 0: never */
	struct mmsghdr call; /* its msg_len: how many are in feed_bytes */
};

/* No pointer in it is used by anybody but its writer. */
struct vm_tape {
	uint32_t live;  /* the owner's, like the next ones */
	uint32_t run;
	uint64_t job;
	uint64_t queued_ns, granted_ns, started_ns; /* MONOTONIC */
	uint64_t started_real_ns;
	uint64_t memory;  /* of its place among the runs, */
	uint32_t places;  /* and processors */
	uint32_t cancelled, timed_out;
	uint32_t spoiled; /* what is stored is not what was said, or not all of
			     what was said is here: nobody can go on */
	uint64_t stdin_size;
	uint64_t config[VM_TAPE_CONFIG]; /* what is to be the same then */
	char language[16];

	struct vm_reach reach;
	uint32_t sent;  /* it has all that it is to get */
	struct vm_origin origin;

	uint64_t end;     /* bytes that came, from the job on */
	uint64_t read_at; /* end before the read that is, or was, under way, */
	struct mmsghdr read; /* and how many bytes that has brought */
	uint32_t which;   /* the point that holds; the other is a draft */
	uint32_t unbegun; /* its owner's, until RUN is sent: how many servers
			     have tried; one that knows nothing of it
			     leaves zero */
	struct vm_tape_point point[2];

	/* The owner's, of what its machine has; one that knows nothing of it
	 * leaves both empty. */
	char environment_id[68], environment_name[68];

	/* Of a job on a lane of a shared machine; 0: it has a machine of its own.
	 * The first two are the owner's. */
	uint64_t sandbox, seat;
	uint32_t lane;
	uint32_t pid;         /* of its program in the machine, once started_ns is set */
	uint32_t feed_ended;  /* no more is written to its open standard input */
	uint64_t run_at;      /* where the mux's `out` is behind RUN; 0: it is not
				 there yet */
	uint64_t fed_at, fed_end; /* where its `in` is behind the last frame, and
				     `end` then */
	struct vm_tape_feed feed;
	uint64_t feed_unique;        /* the owner's: the last write to that input, */
	struct mmsghdr feed_write;   /* and how many of its bytes were taken */

	_Alignas(4096) uint8_t room[VM_TAPE_ROOM];
	uint8_t feed_bytes[VM_TAPE_FEED];
};

/* All before the bytes themselves: what a new tape's owner is to zero. */
#define VM_TAPE_HEAD offsetof(struct vm_tape, room)

/* From now on its program may have begun, in this machine or in one before. */
void tape_order(struct vm_tape *t);
/* Of a dead owner's. Return: how many servers have tried to have its program begun,
 * and none has; 0: it may have begun. */
unsigned tape_tries(const struct vm_tape *t);
/* Its machine is none any more, or not yet: nobody can go on. */
void tape_unsign(struct vm_tape *t);
/* A job begins; what had come of the next frame before. At most VM_TAPE_ROOM. */
void tape_begin(struct vm_tape *t, const struct vm_tape_point *p,
		const uint8_t *data, size_t size);
/*
 * Up to size bytes from *at on, which is moved: what is on the tape, then what
 * sock has. Return: bytes; 0: the end of sock; -ENOBUFS: the tape is full;
 * another negative errno of recv(2), -EAGAIN as well.
 */
ssize_t tape_take(struct vm_tape *t, uint64_t *at, int sock, uint8_t *data,
		  size_t size);
/* What is on it from *at on, which is moved. Return: bytes, 0: none. */
size_t tape_read(const struct vm_tape *t, uint64_t *at, uint8_t *data,
		 size_t size);
/* Adds a frame of a lane's job. at: the position in the mux's `in` behind that frame.
 * Return: 0 or -ENOBUFS: the tape is full. */
int tape_feed(struct vm_tape *t, const uint8_t *head, const uint8_t *payload,
	      size_t length, uint64_t at);
/* Of a dead owner's: has that frame come? */
bool tape_has_fed(const struct vm_tape *t, uint64_t at);
/* Bytes of sock, a nonblocking socket, that are to be the next frame of open standard
 * input. Return: bytes, 0: its end, or negative errno. Again until tape_feed_put(). */
ssize_t tape_feed_receive(struct vm_tape *t, int sock, size_t size);
/* A frame of so many bytes is put: `at` is to be where `out` is behind it. */
void tape_feed_put(struct vm_tape *t, size_t length);
/* And now it is there. */
void tape_feed_done(struct vm_tape *t);
static inline const struct vm_tape_point *tape_point(const struct vm_tape *t)
{
	return &t->point[t->which];
}
static inline size_t tape_left(const struct vm_tape *t)
{
	return VM_TAPE_ROOM - (size_t)(t->end - tape_point(t)->at);
}
/* The point that is to hold, once it does. */
static inline struct vm_tape_point *tape_draft(struct vm_tape *t)
{
	return &t->point[!t->which];
}
void tape_settle(struct vm_tape *t);

/* Of a process that is dead, and perhaps was taken over: *t is made whole.
 * Return: 0 or -EPROTO: it is of no use. */
int tape_recover(struct vm_tape *t);
/* The same of a lane's, whose machine's `out` ends at out_end; before any more is put
 * there. */
int tape_recover_lane(struct vm_tape *t, uint64_t out_end);
/* Does it have all that a machine says of a job? without_output: no output tree
 * was asked for. */
bool tape_is_whole(const struct vm_tape *t, bool without_output);

#endif
