/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is reached by a descriptor alone: machines, and files that have no name any
 * more and are still open. The supervisor gets one of each machine's wire and monitor
 * as it is made, and of a file before its name goes; the next server asks for it.
 * They are in no directory: whatever ends, and when, nothing of them is left. A
 * server that is killed in between leaves the file in its place, the supervisor with a
 * descriptor that nobody asks for, or both done.
 *
 *   server -> FDSTORE_KEEP    with the descriptor, if there is one
 *          -> FDSTORE_DROP    it is of no more use
 *          -> FDSTORE_FETCH   <- the entry, with the descriptor; kind 0: none
 *          -> FDSTORE_SWEEP   what this server has not asked for
 */
#ifndef FSD_FDSTORE_H
#define FSD_FDSTORE_H

#include <stdint.h>

#include "layout/layout.h"

struct loop;

enum fdstore_kind {
	FDSTORE_NODE = 1, /* a stored file, O_PATH; id: its inode number */
	FDSTORE_VFILE,    /* a result that is its job's no more; id: the open file's */
	FDSTORE_SOCKET,   /* to a machine or its jailer; id: vm_keep's key */
	FDSTORE_FEED_IN,  /* what is read of a job's open standard input, */
	FDSTORE_FEED_OUT, /* and written to; id: the job's number */
};

struct fdstore_entry {
	uint32_t kind, area;  /* area: FDSTORE_NODE, enum node_area */
	uint64_t id;
	uint32_t uid, gid, mode; /* of the job that it was in */
	uint32_t unused;
	uint64_t changed_ns;  /* FDSTORE_VFILE: of the job */
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
int fdstore_new(struct loop *loop, int control, struct fdstore **ret);
void fdstore_free(struct fdstore *s); /* NULL is fine */

/* From now on the supervisor has fd, too; it stays the caller's, -1: there is none.
 * Return: 0, or negative errno: the file ends with this process. */
int fdstore_keep(struct fdstore *s, const struct fdstore_entry *entry, int fd);
void fdstore_drop(struct fdstore *s, enum fdstore_kind kind, uint64_t id);
/* What the server before has kept, until fdstore_sweep(); *ret_fd is the
 * caller's, or -1. Return: 0 or -ENOENT. */
int fdstore_fetch(struct fdstore *s, enum fdstore_kind kind, uint64_t id,
		  struct fdstore_entry *ret, int *ret_fd);
void fdstore_sweep(struct fdstore *s);

/* A result that is open, embedded, zeroed. The second, before its job is removed,
 * keeps all those in the list; they are dropped when they are closed. */
struct fdstore_vfile {
	struct list node;
	uint64_t id;
	int fd;      /* borrowed, below 0: what is empty need not be there */
	bool stored;
};
void fdstore_keep_rows(struct fdstore *s, const struct list *rows,
		       const struct fdstore_entry *of);
void fdstore_vfile_closed(struct fdstore *s, struct fdstore_vfile *row);

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
