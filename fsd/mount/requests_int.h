/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the requests: shared by requests*.c, mountpoint.c and
 * blocked_reads.c.
 */
#ifndef FSD_REQUESTS_INT_H
#define FSD_REQUESTS_INT_H

#include <linux/fuse.h>

#include "fsd/base/hash.h"
#include "fsd/handover/handover.h"
#include "requests.h"

/* --- shared with the next server ------------------------------------------------ */

/* The progress of a request. */
struct request_progress {
	uint32_t tries;  /* how many servers died while they handled this request */
	uint32_t begun;  /* an operation that must not be done twice has begun */
	uint64_t before; /* the state that this operation found: see requests_begin() */
};

#define MESSAGE_MAX ((1u << 20) + 4096u)
#define MESSAGES 32u

/* A request that is being handled. */
struct request_message {
	uint64_t seq;
	struct request_progress progress;
	uint8_t data[MESSAGE_MAX]; /* the first word is the message's length; 0: no
				    * message */
};

#define REQUEST_SHORT 200u /* bytes of a request that need no blocks */

/* A request that has no answer yet. */
struct request_record {
	uint32_t live;
	uint32_t len;
	uint64_t seq;    /* the order in which requests came */
	struct request_progress progress;
	union {
		uint8_t data[REQUEST_SHORT];
		uint32_t block[REQUEST_SHORT / sizeof(uint32_t)];
	};
};

/* The mount. */
struct mount_record {
	uint32_t live;
	uint32_t init_len; /* 0: the kernel has not begun */
	uint64_t last_seq; /* the last seq that a request got */
	_Alignas(uint64_t) uint8_t init[4096];
	struct request_message message[MESSAGES];
};

/* --- of this server --------------------------------------------------------------- */

struct pending {
	struct hash_node node; /* link in requests->by_unique */
	uint64_t unique;
	struct request_record *kept;
};

/* A request in an operation, perhaps in a fiber that waits. */
struct look {
	struct list node; /* link in requests->looks */
	struct fsd *d;
	const uint8_t *data; /* data of the message, or `copy` */
	uint32_t len;
	uint64_t unique;
	bool answered;
	struct request_progress *progress;
	/* the message in shared memory, or NULL */
	struct request_message *message;
	unsigned place; /* index of the message */
	uint8_t *copy;                   /* owned, or NULL */
};

/* the mount's descriptor in the loop; see mountpoint.c */
struct mountpoint {
	struct fsd *d;    /* borrowed */
	void (*unmounted)(struct fsd *d);
	uint64_t last_ns; /* when the last request was read and handled; see mountpoint.h */
	struct loop_fd src;
};

#define REQUESTS_ROOM (128u << 10) /* most bytes of one reply to a read of `wait`,
				    * `events` or a .follow file */

struct requests {
	struct mountpoint mountpoint;
	/* blocked_reads.c: bytes of a reply that is sent at once */
	char room[REQUESTS_ROOM];
	struct fuse_session *session; /* owned; libfuse's */
	int fd;                 /* the session's */
	struct hash by_unique;  /* table of struct pending */
	struct list looks;      /* list of struct look */
	/* the request that runs outside of fibers, or NULL */
	struct look *plain;
	bool taken[MESSAGES];
	struct mount_record *shared; /* borrowed */
	/* the kernel has got the answer to INIT: libfuse's answer to the repeated INIT
	 * must not reach it */
	bool first_answer_lost;
};

static inline const struct fuse_in_header *header_of(const void *data)
{
	return data;
}

/* Marks the message as free, so that the next server does not replay it. */
static inline void message_clear(struct request_message *m)
{
	struct fuse_in_header *in = (void *)m->data;

	in->len = 0;
}

static inline bool has_answer(uint32_t opcode)
{
	return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET &&
	       opcode != FUSE_INTERRUPT;
}

/* requests.c: makes the record of a request. data is borrowed until
 * look_free(). NULL: without memory. */
struct look *look_new(struct fsd *d, const uint8_t *data, uint32_t len,
		      struct request_progress *progress);
/* Passes the request to libfuse; consumes l. */
void look_at(struct look *l);
void look_free(struct look *l);
/* Sends an answer, or a notification (unique 0), without libfuse. */
void request_tell(struct fsd *d, uint64_t unique, int32_t error,
		  const void *data, size_t size);

/* request_journal.c: requests that wait for their answer. */
struct pending *request_find(struct requests *q, uint64_t unique);
void request_forget(struct fsd *d, struct pending *p);
/* Stores a request. NULL: a table is full, or there is no memory. */
struct request_record *request_keep(struct fsd *d, const uint8_t *data,
				     uint32_t len, uint64_t seq,
				     const struct request_progress *p);

#endif
