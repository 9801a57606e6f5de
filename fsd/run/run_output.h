/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the output tree of a run, one entry after the other, and counts the entries that
 * are left out. run_output.c alone writes struct run_tree.
 *
 * Context: run_output_file(), _data(), _end(), _cut() and run_drop_output() are for a
 * fiber that holds the job, and wait for the disk. The others run on the loop or in a
 * fiber and do not wait.
 */
#ifndef FSD_RUN_OUTPUT_H
#define FSD_RUN_OUTPUT_H

#include "fsd/fsd.h"

struct result_file;
struct result_left;
struct job;
struct run;

struct run_tree {
	struct result_file *files; /* owned; their paths are in run->texts */
	unsigned count, room;
	uint64_t bytes;            /* sum of the sizes of files */
	uint64_t dropped;          /* number of entries that are left out */
	struct result_left *left;  /* owned: the first of these; paths in run->texts */
	unsigned left_count;
	uint64_t path_bytes;       /* sum of the lengths of all paths and link targets */
	unsigned entries;          /* entries made, and parent directories made for them */
	struct node *file;         /* borrowed: the file that is being written, or NULL */
	int fd;                    /* descriptor of that file, or -1 */
	uint64_t missing;          /* bytes of that file that have not come yet */
	bool over_quota;           /* some output does not fit into the owner's quota */
	bool half;                 /* an incomplete file could not be removed */
};

void run_tree_init(struct run *run);
/* Frees the lists and closes the file that is being written. */
void run_output_done(struct run *run);
/* Begins an entry. Return: 0; negative errno: the entry is left out, so skip its data. */
int run_output_file(struct run *run, uint32_t kind, uint32_t mode, uint64_t size,
		    const char *path, const char *target);
int run_output_data(struct run *run, const void *data, size_t len);
/* Ends the present entry. mtime: as the guest reports it. */
int run_output_end(struct run *run, struct wire_time mtime);
/* Call it when no more data will come: removes an incomplete file. If the disk does not
 * remove it, drops the whole tree, since result.json must list exactly the stored
 * files. */
void run_output_cut(struct run *run);
/* Drops the whole stored tree. After an adoption the machine sends the tree again;
 * without a machine it is unknown which files are complete. */
void run_drop_output(struct job *job);

/* Counts an entry that is left out, and logs it. reason: a constant. */
void run_left_out(struct run *run, const char *path, uint64_t bytes, const char *reason);
/* Logs, once, that some output does not fit into the owner's quota of bytes. */
void run_over_quota(struct run *run);
#define RUN_OVER_QUOTA "the owner's quota of bytes (--quota-bytes) is used up"
/* Counts the entries that the guest left out. count: all of them, also those that it has
 * named before. */
void run_guest_left_out(struct run *run, uint32_t count);
/* Return: the guest's reason (enum wire_omitted) as a constant sentence. */
const char *run_left_reason(uint32_t left);
/* Call it when all output has come: appends to the end's message, and to the log, which
 * limits have ended the program or cut its output. */
void run_say_cuts(struct run *run);

#endif
