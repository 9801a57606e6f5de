/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a run's output to the disk, in the order in which the machine sent it: streams,
 * the value, the output tree. output_queue.c alone writes struct output_queue and struct
 * run_value, and counts the streams; streams.c makes their files.
 *
 * Context: the loop's thread. The calls that take data copy it, do not wait, and return 0
 * or -ENOMEM; a fiber of the queue writes it.
 */
#ifndef FSD_OUTPUT_QUEUE_H
#define FSD_OUTPUT_QUEUE_H

#include "fsd/fsd.h"
#include "vm/channel/replay.h"

struct fiber;
struct run;

struct run_stream {
	int fd;           /* owned, to append and read; -1: not open */
	uint64_t taken;   /* bytes that are stored or queued */
	uint64_t size;    /* bytes that are stored: readers see these */
	uint64_t dropped; /* bytes over the limit or the owner's quota */
	uint64_t unpaid;  /* the part of `dropped` that was over the quota */
	uint64_t limit;   /* bytes */
	uint64_t skip;    /* stored bytes that the machine sends again after an
			   * adoption */
};

struct output_queue {
	struct buf in;        /* items that wait */
	size_t last;          /* offset of the newest item in `in` */
	struct buf now;       /* items that are being written */
	struct fiber *waiter; /* the fiber in output_queue_wait(), or NULL */
	bool busy;            /* the queue's fiber runs */
	bool held;            /* reading from the machine is stopped: vm_hold() */
	bool skip;            /* the present entry of the tree is left out */
	bool failed;          /* a write failed: further output is dropped */
	uint32_t announced_left; /* entries that the guest left out and named */
	struct wire_time mtime;  /* mtime for the next output_queue_end() */
};

/* VM_RESULT: lines that a cell shows, which are stored; then the value, which stays in
 * memory until the run's end. */
struct run_value {
	bool in_shown; /* the last shown line is not complete yet */
	bool overflow; /* the value was too large and was dropped */
	struct buf json;
};

int output_queue_output(struct run *run, enum vm_stream stream, const void *data, size_t len);
int output_queue_result(struct run *run, const char *data, size_t len);
int output_queue_file(struct run *run, uint32_t kind, uint32_t mode, uint64_t size,
		      const char *path, const char *target);
int output_queue_data(struct run *run, const void *data, size_t len);
/* Sets the mtime of the file that output_queue_end() ends. */
void output_queue_time(struct run *run, struct wire_time mtime);
int output_queue_end(struct run *run);
/* Call it when the program has ended: adds the bytes that the guest dropped to the
 * counts. */
void output_queue_exited(struct run *run, const struct wire_exit *e);
/* Sets a checkpoint in the replay buffer if all output is stored. Return: false: done;
 * true: output is queued, and the queue's fiber sets a checkpoint soon. */
bool output_queue_checkpoint(struct run *run);
/* Waits until all queued output is stored. On the loop it does nothing. */
void output_queue_wait(struct run *run);
void output_queue_init(struct run *run);
/* For an adopted run: finds out whether the next byte of VM_RESULT is in the middle of a
 * line. Return: false: the stored stream cannot be read. */
bool output_queue_take(struct run *run);
void output_queue_done(struct run *run);

/* --- streams.c --- */

extern const char *const run_stream_names[VM_STREAM_MAX];

/* Sets the limits from the config, if the run has one. Opens no file. */
void run_streams_init(struct run *run);
void run_streams_done(struct run *run);
/* Sets the sizes of stdout and stderr from the stored files; RESULT_UNKNOWN: not
 * readable. */
void run_streams_find(struct run *run);
/* For an adopted run: sets the counts of its streams from the last checkpoint and the
 * stored files. Return: false: a file has fewer bytes than the checkpoint. */
bool run_streams_take(struct run *run, const struct vm_replay *t);
/* Opens the stream's file, and makes it if need be; the fiber waits. Return: 0 or
 * negative errno. */
int run_stream_make(struct run *run, enum vm_stream stream);
/* Takes fd, which may be a negative errno, as the stream's file. If another fiber has
 * opened the file meanwhile, closes fd. */
void run_stream_made(struct run_stream *s, int fd);

#endif
