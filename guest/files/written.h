/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files somebody has had open for writing. A write through a mapping
 * leaves tmpfs's times alone, but its file was open for writing as long as the
 * mapping lived, and its last close is an event of fanotify. A mapping that
 * still lives (in a living interpreter; in a holder, see runners/hold.h) keeps
 * its file open, and the kernel gives nobody a lease for reading on it then.
 */
#ifndef GUEST_WRITTEN_H
#define GUEST_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A set of inodes. */
struct inodes {
	ino_t *list; /* owned */
	size_t count, size;
	bool sorted;
};

struct written {
	int fd;      /* owned; of fanotify, 0 before the first watch, or -1 */
	bool lost;   /* there were too many events */
	struct inodes closed;
};

/* Return: 0 or -ENOMEM. */
int inodes_add(struct inodes *s, ino_t inode);
bool inodes_has(struct inodes *s, ino_t inode);
void inodes_done(struct inodes *s);

/* From here on, on dir's whole file system; what was before is forgotten. */
void written_watch(struct written *w, int dir);
/* Hears of all closes until now. */
void written_hear(struct written *w);
/* Was one of the closes that were heard inode's? If nobody can say, lost is true. */
bool written_was_closed(struct written *w, ino_t inode);
/* Has anybody fd's file open for writing at this moment? */
bool written_is_open(int fd);
void written_done(struct written *w);

#endif
