/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a run between its machine and the disk, in order: streams, the value,
 * the output tree. output_queue.c alone writes struct output_queue and struct run_value; it
 * counts the streams, which streams.c makes and finds. The calls that take data are the
 * loop's; they return 0 or -ENOMEM, and a fiber writes.
 */
#ifndef FSD_OUTPUT_QUEUE_H
#define FSD_OUTPUT_QUEUE_H

#include "fsd/fsd.h"
#include "vm/channel/replay.h"

struct fiber;
struct run;

struct run_stream {
	int fd;           /* owned: append and read */
	uint64_t taken;   /* bytes kept, or about to be */
	uint64_t size;    /* bytes kept */
	uint64_t dropped; /* bytes over the limit, */
	uint64_t unpaid;  /* of these, over the owner's quota */
	uint64_t limit;
	uint64_t skip;    /* bytes that will come again and are kept already */
};

struct output_queue {
	struct buf in;        /* items that came, */
	size_t last;          /* the newest item in it */
	struct buf now;       /* and items that are being written */
	struct fiber *waiter; /* for the end of that, or NULL */
	bool busy;
	bool held;            /* the machine is not listened to */
	bool skip;            /* this file of the tree is left out */
	bool failed;          /* no more is taken */
	uint32_t announced_left; /* entries that the guest left out and named */
	struct wire_time mtime;  /* of the file that is about to end */
};

/* RESULT: lines that are shown, a stream; then the value, which stays in memory. */
struct run_value {
	bool in_shown; /* a line of what is shown has begun */
	bool overflow; /* the value was too large, and is dropped */
	struct buf json;
};

int output_queue_output(struct run *run, enum vm_stream stream, const void *data, size_t len);
int output_queue_result(struct run *run, const char *data, size_t len);
int output_queue_file(struct run *run, uint32_t kind, uint32_t mode, uint64_t size,
		      const char *path, const char *target);
int output_queue_data(struct run *run, const void *data, size_t len);
/* When the file that is about to end was changed. */
void output_queue_time(struct run *run, struct wire_time mtime);
int output_queue_end(struct run *run);
/* The program has ended: adds what the guest itself dropped. */
void output_queue_exited(struct run *run, const struct wire_exit *e);
/* If all that came is in the store, the replay buffer has a
 * checkpoint. Return: false if so; true: it will. */
bool output_queue_checkpoint(struct run *run);
/* Waits until all of it is in the store. In a fiber; a no-op on the loop. */
void output_queue_wait(struct run *run);
void output_queue_init(struct run *run);
/* A run of another server: the next byte of RESULT may be within a line. Return: false:
 * the store does not tell. */
bool output_queue_take(struct run *run);
void output_queue_done(struct run *run);

/* --- streams.c --- */

extern const char *const run_stream_names[VM_STREAM_MAX];

/* No file is open; the limits are those of the config, if it has one. */
void run_streams_init(struct run *run);
void run_streams_done(struct run *run);
/* The sizes that the store has; RESULT_UNKNOWN: it does not tell. */
void run_streams_find(struct run *run);
/* A run of another server: its streams as far as they are kept. Return: false: they are
 * not what they should be. */
bool run_streams_take(struct run *run, const struct vm_replay *t);
/* Return: 0 or negative errno; else its fd is there. */
int run_stream_make(struct run *run, enum vm_stream stream);
/* It was opened as fd, if that is one; perhaps by two at the same time. */
void run_stream_made(struct run_stream *s, int fd);

#endif
