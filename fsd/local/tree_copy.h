/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and removes trees of files. It opens each directory relative to its parent's
 * descriptor, so a name that another process replaces meanwhile leads nowhere else. */
#ifndef FSD_TREE_COPY_H
#define FSD_TREE_COPY_H

#include <stdbool.h>
#include <stddef.h>

struct tree_copy {
	/* Called before each block is copied, and before each file. Return: 0, or
	 * what tree_copy() returns then. NULL: no call. */
	int (*may)(void *arg);
	/* Return: true for a name at the top that is left out. NULL: none is. */
	bool (*skip)(void *arg, const char *name);
	void *arg;
	bool follow;     /* copy the files to which links in the tree lead */
	bool closed;     /* refuse links that lead out of the tree */
	bool now;        /* do not copy times: the copies have the present time */
	bool sync;       /* fsync(2) of each file and directory of the copy */
	char path[4096]; /* returned after an error: the path that it is about */
	const char *why; /* returned after an error: the reason */
	/* returned after an error: true: the copy cannot be written; false: the source cannot
	 * be read, or is refused */
	bool writing;
	bool link;       /* returned after an error: a link could not be made in the copy */
};

/* Copies the entry `name` in `from` to `as` in `to`, with modes and times: a file, a
 * directory with everything in it, or a link (as a link, unless follow). Return: 0, a
 * negative errno, or the value that may() returned. */
int tree_copy(struct tree_copy *t, int from, const char *name, bool follow,
	      int to, const char *as);
/* Copies all entries of the directory `from` into `to`. */
int tree_copy_all(struct tree_copy *t, int from, int to);
/* Writes all bytes, with write(2). Return: 0 or negative errno. */
int write_all(int fd, const void *data, size_t len);
/* Removes as much as possible, and does not enter mounts. Return: 0, or the negative
 * errno of the last failure. */
int tree_remove(int at, const char *name);
/* Removes all entries of the directory as tree_remove() does, except the entry `but` at its
 * top. but may be NULL. */
void tree_remove_all(int dir, const char *but);

#endif
