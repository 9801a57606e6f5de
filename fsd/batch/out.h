/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a batch's results:
 *
 *   OUT/batch.json  journal  inputs  results.tsv  failed.txt  lock
 *   OUT/r/in/a/     result.json exit_code stdout stderr output/
 *   OUT/r/.newMAKER.N  what is being written: a later batch of this host removes it when
 *                   its process is dead (local/maker.h)
 *
 * Each result appears by one rename, and each file by one, too.
 */
#ifndef FSD_BATCH_OUT_H
#define FSD_BATCH_OUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "fsd/local/maker.h"
#include "layout/layout.h"

#define OUT_TEMPORARY 160 /* bytes of the name of a temporary directory or file */

struct out {
	const char *path;   /* the path as the user typed it */
	int dir;            /* owned: OUT, or -1 */
	int results;        /* owned: r/, or -1 */
	int lock;           /* owned: the lock, or -1 */
	int part_lock;      /* owned: of this part, or -1 */
	bool remote;        /* OUT is on a network file system */
	bool syncs;
	unsigned made;      /* temporary names */
	char maker[MAKER_TEXT]; /* text of this process, for the names of temporary
				 * directories and files */
};
#define OUT_NONE { .dir = -1, .results = -1, .lock = -1, .part_lock = -1 }

/* Opens OUT. make: makes OUT and r/ if they do not exist. Return: 0; -ENOENT: OUT does
 * not exist; or 2, and standard error has the sentence. */
int out_open(struct out *o, const char *path, bool make);
/* Locks OUT, or one part of the batch in it. Return: 0 or 2; then standard error has the
 * sentence. */
int out_lock(struct out *o, unsigned part, unsigned parts);
void out_close(struct out *o);

/* True if OUT has a result under this path. */
bool out_has(const struct out *o, const char *path);
/* Opens the result. Return: descriptor, -ENOENT, or another negative errno. */
int out_result(const struct out *o, const char *path);

/* Makes a new directory. Return: its descriptor or negative errno. */
int out_new(struct out *o, char name[OUT_TEMPORARY]);
/* Syncs these directories. Their files are synced, too, except on a network file system,
 * where the copy has synced them. Return: 0 or negative errno. */
int out_sync(const struct out *o, const char *const *name, unsigned count);
/* Renames a temporary directory to the path. Return: 0; -EEXIST: there is a result; or
 * negative errno. */
int out_publish(const struct out *o, const char *name, const char *path);
/* Syncs the names in a directory of r/; "": in r/ itself. */
int out_sync_dir(const struct out *o, const char *dir);
/* Removes a name or a path with everything in it; it disappears in one step. Return: 0
 * (also if it did not exist) or negative errno. */
int out_remove(struct out *o, const char *path);
void out_drop(const struct out *o, const char *name);
/* Removes temporary directories that dead processes of this host have left. */
void out_clean(struct out *o);

/* Write a file by a rename: call out_file_begin(), write to its descriptor, call
 * out_file_end(). Return: the descriptor, or 0; or negative errno. */
int out_file_begin(struct out *o, char name[OUT_TEMPORARY]);
int out_file_end(struct out *o, int fd, const char *name, const char *as);
/* Ends a file as out_file_end() does, but replaces no file: -EEXIST. */
int out_file_link(struct out *o, int fd, const char *name, const char *as);

#endif
