/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by requests*.c, mountpoint.c and blocked_reads.c only. */
#ifndef FSD_REQUESTS_INT_H
#define FSD_REQUESTS_INT_H

#include <linux/fuse.h>

#include "fsd/base/hash.h"
#include "fsd/handover/inherit.h"
#include "requests.h"

struct pending {
	struct hash_node node; /* in requests->by_unique */
	uint64_t unique;
	struct inherit_request *kept;
};

/* A request on its way through an operation, perhaps in a fiber that waits. */
struct look {
	struct list node; /* in requests->looks */
	struct fsd *d;
	const uint8_t *data; /* the message's, or the copy */
	uint32_t len;
	uint64_t unique;
	bool answered;
	struct inherit_progress *progress;
	struct inherit_message *message; /* taken, or NULL */
	unsigned place;                  /* of the message */
	uint8_t *copy;                   /* owned, or NULL */
};

/* mountpoint.c */
struct mountpoint {
	struct fsd *d;    /* borrowed */
	void (*unmounted)(struct fsd *d);
	uint64_t last_ns; /* when the last request was answered */
	struct loop_fd src;
};

#define REQUESTS_ROOM (128u << 10) /* most bytes of one follow reply */

struct requests {
	struct mountpoint mountpoint;
	char room[REQUESTS_ROOM]; /* blocked_reads.c: data of a reply that is sent at once */
	struct fuse_session *session; /* owned; libfuse's */
	int fd;                 /* the session's */
	struct hash by_unique;  /* of struct pending */
	struct list looks;      /* of struct look */
	struct look *plain;     /* the one that runs in no fiber, or NULL */
	bool taken[INHERIT_MESSAGES];
	bool first_answer_lost; /* the kernel has had it: of INIT */
};

static inline const struct fuse_in_header *header_of(const void *data)
{
	return data;
}

/* Nobody is to look at it any more: not after our end either. */
static inline void message_clear(struct inherit_message *m)
{
	struct fuse_in_header *in = (void *)m->data;

	in->len = 0;
}

static inline bool has_answer(uint32_t opcode)
{
	return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET &&
	       opcode != FUSE_INTERRUPT;
}

/* requests.c: data is borrowed until the look ends. NULL: without memory. */
struct look *look_new(struct fsd *d, const uint8_t *data, uint32_t len,
		      struct inherit_progress *progress);
/* Gives it to libfuse; consumes it. */
void look_at(struct look *l);
void look_free(struct look *l);
/* An answer, or a notification (unique 0), past libfuse. */
void request_tell(struct fsd *d, uint64_t unique, int32_t error,
		  const void *data, size_t size);

/* request_journal.c: of those whose answer is still to come. */
struct pending *request_find(struct requests *q, uint64_t unique);
void request_forget(struct fsd *d, struct pending *p);
/* NULL: there is no room. */
struct inherit_request *request_keep(struct fsd *d, const uint8_t *data,
				     uint32_t len, uint64_t seq,
				     const struct inherit_progress *p);

#endif
