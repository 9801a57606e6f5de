/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output tree of a run, one entry after the other, and the entries that are left
 * out. run_output.c alone writes struct run_tree. A fiber that holds the job makes
 * entries; they wait for the disk.
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
	uint64_t bytes;            /* of the files that are kept */
	uint64_t dropped;          /* entries that are left out */
	struct result_left *left;  /* owned; the first of those, likewise */
	unsigned left_count;
	uint64_t path_bytes;       /* of all entries that were announced */
	unsigned entries;          /* made, and the directories on their way */
	struct node *file;         /* borrowed: the one being written */
	int fd;                    /* of that file, or -1 */
	uint64_t missing;          /* bytes of that file that are still to come */
	bool over_quota;           /* some output does not fit into the quota */
	bool half;                 /* the disk keeps half a file */
};

void run_tree_init(struct run *run);
/* Frees all of it. */
void run_output_done(struct run *run);
/* One entry. Return: 0; negative errno: it is left out, and so is its data. */
int run_output_file(struct run *run, uint32_t kind, uint32_t mode, uint64_t size,
		    const char *path, const char *target);
int run_output_data(struct run *run, const void *data, size_t len);
/* mtime: when the guest says that it was changed. */
int run_output_end(struct run *run, struct wire_time mtime);
/* No more will come: a file that is not whole is removed. If that failed, all go, since
 * the list would not be what is there. */
void run_output_cut(struct run *run);
/* The whole tree goes: nobody knows which of its files came whole. */
void run_drop_output(struct job *job);

/* An entry of the output tree is not kept; reason is a constant. */
void run_left_out(struct run *run, const char *path, uint64_t bytes, const char *reason);
/* Some output does not fit into the owner's quota of bytes: the log says so, once. */
void run_over_quota(struct run *run);
#define RUN_OVER_QUOTA "the owner's quota of bytes (--quota-bytes) is used up"
/* The guest left out so many, and has named some of them. */
void run_guest_left_out(struct run *run, uint32_t count);
/* The guest's reason, enum wire_omitted, as a constant. */
const char *run_left_reason(uint32_t left);
/* All came: the end's message says which limit has ended or cut it, after what it says
 * so far, and so does a line of the log for each. */
void run_say_cuts(struct run *run);

#endif
