/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file or a directory that is made beside the place where it will stand, and is put there
 * by a rename when it is complete.
 *
 *   beside_begin(&b, parent, "results");   parent: a descriptor of the directory
 *   beside_clean(&b);                      what killed processes have left
 *   beside_make(&b);                       .results.fsd-abc123/, see own_dir.h
 *   ...                                    makes BESIDE_NEW in the directory b.own
 *   beside_put(&b, BESIDE_FRESH);          renames it to results
 *   beside_end(&b);                        removes the rest
 *
 * A killed process leaves the old entry or the whole new one at the name. On NFS, Lustre or
 * sshfs a directory is replaced by two renames. A kill between them leaves no entry there
 * until the next beside_clean().
 */
#ifndef FSD_BESIDE_H
#define FSD_BESIDE_H

#include <limits.h>

#define BESIDE_NEW "new"

struct beside {
	int parent; /* owned, or -1 */
	int own;    /* owned, or -1: not made */
	char name[NAME_MAX + 1];
	char prefix[NAME_MAX + 1]; /* how the names of such directories begin */
	char made[NAME_MAX + 1];
};
#define BESIDE_NONE { .parent = -1, .own = -1 }

enum beside_how {
	BESIDE_FRESH, /* a directory; an existing entry stays: -EEXIST */
	BESIDE_OVER,  /* replaces the existing entry: a file replaces a file or a link, a
		       * directory replaces a directory with everything in it */
};

/* Takes ownership of parent. Return: 0, or -EINVAL: no file can have that name. The caller
 * must call beside_end() after an error, too. */
int beside_begin(struct beside *b, int parent, const char *name);
void beside_clean(struct beside *b);
/* Return: 0 or negative errno. */
int beside_make(struct beside *b);
int beside_put(struct beside *b, enum beside_how how);
void beside_end(struct beside *b); /* does nothing if there is none */

/* Renames a file or a directory to a name that must be new. Where the filesystem cannot
 * do both in one step the name is looked up first; a directory that is not empty is
 * replaced in no case. Return: 0, -EEXIST, or another negative errno. */
int rename_fresh(int from, const char *name, int to, const char *as);

#endif
