/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is reached by a descriptor alone: the sockets of machines and of their jailer, and
 * of a program's open standard input. The supervisor gets a copy of each as it is made;
 * the next server asks for it. So they outlive a server, and end with the supervisor.
 *
 *   server -> FDSTORE_KEEP    with the descriptor
 *          -> FDSTORE_DROP    it is of no more use
 *          -> FDSTORE_FETCH   <- the entry, with the descriptor; kind 0: none
 *          -> FDSTORE_SWEEP   what this server has not asked for
 */
#ifndef FSD_FDSTORE_H
#define FSD_FDSTORE_H

#include <stdint.h>

#include "layout/layout.h"

enum fdstore_kind {
	FDSTORE_SOCKET = 1,   /* to a machine or its jailer; id: vm_keep's key */
	FDSTORE_FEED_IN,      /* what is read of a job's open standard input, */
	FDSTORE_FEED_OUT,     /* and written to; id: the job's number */
};

struct fdstore_entry {
	uint64_t kind, id;
};

/* Its first byte is none of those that server/supervisor.h has. */
enum fdstore_call {
	FDSTORE_KEEP = 'K',
	FDSTORE_DROP = 'D',
	FDSTORE_FETCH = 'F',
	FDSTORE_SWEEP = 'S',
};

/* What goes either way. */
struct fdstore_message {
	uint64_t what; /* enum fdstore_call */
	struct fdstore_entry entry;
};

/* --- fdstore.c: the server's side; without a store nothing is kept ------------- */

struct fdstore;
/* control: the supervisor's socket, borrowed. */
int fdstore_new(int control, struct fdstore **ret);
void fdstore_free(struct fdstore *s); /* NULL is fine */

/* From now on the supervisor has fd, too; it stays the caller's. Without a store, or if
 * the supervisor does not take it, it ends with this process. The second: it has not. */
void fdstore_keep(struct fdstore *s, enum fdstore_kind kind, uint64_t id, int fd);
void fdstore_drop(struct fdstore *s, enum fdstore_kind kind, uint64_t id);
/* What the previous server has kept, until fdstore_sweep(). Return: a socket, the
 * caller's; -1: there is none. */
int fdstore_fetch(struct fdstore *s, enum fdstore_kind kind, uint64_t id);
void fdstore_sweep(struct fdstore *s);

/* --- fdstore_table.c: the supervisor's; what it is told it does not believe -------- */

struct fdstore_table;
/* most: so many entries at a time. */
int fdstore_table_new(unsigned most, struct fdstore_table **ret);
void fdstore_table_free(struct fdstore_table *t); /* NULL is fine */
/* Another server begins, which has asked for nothing. */
void fdstore_table_next(struct fdstore_table *t);
/* Does what it is told; fd is taken, or -1. Return: the answer for a fetch, with
 * a descriptor that is borrowed, or NULL: there is nothing to answer. */
const struct fdstore_entry *
fdstore_table_hear(struct fdstore_table *t, const struct fdstore_message *m,
		   int fd, int *ret_fd);

#endif
