/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open standard input of a run, for the rest of the room; run.h has the calls for
 * writers. run_feed.c alone writes struct run_feed. All calls: on the loop or in a
 * fiber; none waits.
 */
#ifndef FSD_RUN_FEED_H
#define FSD_RUN_FEED_H

#include "fsd/fsd.h"
#include "vm/channel/replay.h"

struct job;
struct run;

struct run_feed {
	struct loop_fd pipe; /* its fd is owned, once made: the end to write to */
	int in;              /* owned: the other end, of a server before; or -1 */
	uint64_t id;         /* by which the supervisor has both; 0: it has none */
	bool made, ended;
	uint64_t written;    /* bytes that were taken from writers; */
	uint64_t read;       /* of these, the program has read them */
	void (*told)(struct job *job); /* called when the feed has changed */
};

void feed_init(struct run *run);
/* Return: the end that the channel reads, or negative errno. */
int feed_make(struct run *run);
/* Takes the feed of a killed server. */
void feed_take(struct run *run, const struct vm_replay *t);
/* The program has read so many bytes. */
void feed_read(struct run *run, uint64_t bytes);
/* No more can be written. */
void feed_done(struct run *run);
/* Ends reading, too. The second calls the writer's function. */
void feed_free(struct run *run);
void feed_closed(struct run *run);

#endif
