/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds files that a process had open for writing. A write through a mapping
 * does not change tmpfs's times. But the file stays open for writing as long as
 * the mapping lives, and fanotify reports its last close. While a mapping lives
 * (in a living interpreter, or in a holder, see runners/hold.h) the kernel
 * refuses a read lease on the file.
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
	/* owned; of fanotify; 0: before the first watch; -1: there is none */
	int fd;
	bool lost; /* events may be missing: too many came, or there is no fanotify */
	struct inodes closed;
};

/* Return: 0 or -ENOMEM. */
int inodes_add(struct inodes *s, ino_t inode);
bool inodes_has(struct inodes *s, ino_t inode);
void inodes_done(struct inodes *s);

/* Starts to watch the filesystem of dir. Forgets earlier events. */
void written_watch(struct written *w, int dir);
/* Reads the events of all closes until now. */
void written_hear(struct written *w);
/*
 * Returns whether a file with this inode was closed by a writer. If that is not known,
 * `lost` is true.
 */
bool written_was_closed(struct written *w, ino_t inode);
/* Returns whether a process has fd's file open for writing now. */
bool written_is_open(int fd);
void written_done(struct written *w);

#endif
