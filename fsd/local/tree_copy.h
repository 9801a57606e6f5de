/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and removes trees of files, by descriptors of directories: a name that
 * somebody replaces meanwhile leads nowhere else. */
#ifndef FSD_TREE_COPY_H
#define FSD_TREE_COPY_H

#include <stdbool.h>
#include <stddef.h>

struct tree_copy {
	/* Called before each block is copied, and before each file. Return: 0, or
	 * what tree_copy() returns then. NULL: no call. */
	int (*may)(void *arg);
	/* Names at the top that are left out. NULL: none. */
	bool (*skip)(void *arg, const char *name);
	void *arg;
	bool follow;     /* copy what links in the tree lead to */
	bool closed;     /* refuse links that lead out of the tree */
	bool now;        /* times are those of the copy, not of what is copied */
	bool sync;       /* fsync(2) of each file and directory of the copy */
	char path[4096]; /* ret, of an error: what it is about */
	const char *why; /* ret, likewise */
	bool writing;    /* ret: the error is of the copy */
	bool link;       /* ret: it is a link that was not taken */
};

/* Copies what `name` in `from` is (a file, a directory with all that is in it, a
 * link as a link, unless follow) to `as` in `to`, with modes and times. Return: 0, a
 * negative errno, or what may() has returned. */
int tree_copy(struct tree_copy *t, int from, const char *name, bool follow,
	      int to, const char *as);
/* All that is in the directory `from`, into `to`. */
int tree_copy_all(struct tree_copy *t, int from, int to);
/* write(2) of all. Return: 0 or negative errno. */
int write_all(int fd, const void *data, size_t len);
/* Until the end of a descriptor. */
int tree_copy_stream(struct tree_copy *t, int from, int to);
/* Removes as much as goes, but not what is mounted there. Return: 0 or negative errno of
 * the last step. */
int tree_remove(int at, const char *name);
/* The same with all that is in a directory, but for one name at its top, or NULL. */
void tree_remove_all(int dir, const char *but);

#endif
