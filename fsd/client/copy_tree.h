/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies files and directories into a job, byte by byte and with their names,
 * modes and times. It follows no link, unless it is told to.
 */
#ifndef FSD_COPY_TREE_H
#define FSD_COPY_TREE_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>

#include "layout/layout.h"

struct copy {
	const volatile sig_atomic_t *stop; /* not 0: give up */
	bool follow;            /* copy what a symbolic link leads to */
	/* Is this entry of the top directory left out? May be NULL. */
	bool (*skip)(void *arg, const char *name);
	void *arg;
	char path[PATH_MAX];    /* of the entry that it is at; for sentences */
	unsigned depth;
};

/* What is in the directory from, into the directory to. Return: 0; -EINTR: it
 * was told to stop; or negative errno with a sentence. */
int copy_tree(struct copy *c, int from, int to, struct err *err);
/* One file, which may have another name there. */
int copy_file(struct copy *c, int from, const char *name, int to,
	      const char *to_name, struct err *err);
/* Removes a directory with all that is in it, as far as it can be. */
void remove_tree(const char *path);

#endif
