/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores descriptors in the supervisor, which outlives a server: the sockets of machines,
 * of their jailer and of the door, and both ends of a program's open standard input. A
 * server sends a copy of each descriptor when it makes it, and the next server fetches it.
 * The copies end with the supervisor.
 *
 *   server -> FDSTORE_KEEP    stores the descriptor that comes with it
 *          -> FDSTORE_DROP    closes it
 *          -> FDSTORE_FETCH   <- the entry, with the descriptor; kind 0: there is none
 *          -> FDSTORE_SWEEP   closes those that this server has neither stored nor fetched
 *
 * Context: fdstore.c on the server's loop; fdstore_table.c in the supervisor, which has
 * one thread.
 */
#ifndef FSD_FDSTORE_H
#define FSD_FDSTORE_H

#include <stdint.h>

#include "layout/layout.h"

enum fdstore_kind {
	FDSTORE_SOCKET = 1,   /* socket to a machine or its jailer; id: vm_keep's key */
	FDSTORE_FEED_IN,      /* reading end of an open standard input; id: job's number */
	FDSTORE_FEED_OUT,     /* writing end of the same input; id: the same */
	FDSTORE_DOOR,         /* server's end of the door's socket; id: 0 */
};

struct fdstore_entry {
	uint64_t kind, id;
};

/* The values differ from the first bytes of the messages in server/supervisor.h, which
 * use the same socket. */
enum fdstore_call {
	FDSTORE_KEEP = 'K',
	FDSTORE_DROP = 'D',
	FDSTORE_FETCH = 'F',
	FDSTORE_SWEEP = 'S',
};

/* A message, in either direction. */
struct fdstore_message {
	uint64_t what; /* enum fdstore_call */
	struct fdstore_entry entry;
};

/* --- fdstore.c: the server's side; without a store (NULL) a call does nothing --- */

struct fdstore;
/* control: the supervisor's socket, borrowed. */
int fdstore_new(int control, struct fdstore **ret);
void fdstore_free(struct fdstore *s); /* NULL is fine */

/* Sends a copy of fd to the supervisor; fd stays the caller's. If the supervisor does not
 * take it, the socket ends with this process. fdstore_drop() removes the copy. */
void fdstore_keep(struct fdstore *s, enum fdstore_kind kind, uint64_t id, int fd);
void fdstore_drop(struct fdstore *s, enum fdstore_kind kind, uint64_t id);
/* Fetches a descriptor that a previous server has stored; before fdstore_sweep(). Blocks
 * for the supervisor's answer. Return: a socket, the caller's; -1: there is none. */
int fdstore_fetch(struct fdstore *s, enum fdstore_kind kind, uint64_t id);
void fdstore_sweep(struct fdstore *s);

/* --- fdstore_table.c: the supervisor's side; it does not trust the server -------- */

struct fdstore_table;
/* most: the number of entries that fit. Return: 0 or -ENOMEM. */
int fdstore_table_new(unsigned most, struct fdstore_table **ret);
void fdstore_table_free(struct fdstore_table *t); /* NULL is fine */
/* Call it when another server begins: no entry counts as fetched. */
void fdstore_table_next(struct fdstore_table *t);
/* Handles a message. fd: the descriptor that came with it, which the call takes; or -1.
 * Return: the answer to a fetch, and its descriptor in *ret_fd, borrowed; NULL: the
 * message has no answer. */
const struct fdstore_entry *
fdstore_table_hear(struct fdstore_table *t, const struct fdstore_message *m,
		   int fd, int *ret_fd);

#endif
