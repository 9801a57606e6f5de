/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open standard input of a run, as the other files of fsd/run use it; run.h has the
 * calls for writers. run_feed.c alone writes struct run_feed. All calls: on the loop or
 * in a fiber; none waits.
 */
#ifndef FSD_RUN_FEED_H
#define FSD_RUN_FEED_H

#include "fsd/fsd.h"
#include "vm/channel/replay.h"

struct job;
struct run;

struct run_feed {
	struct loop_fd pipe; /* the writing end; its fd is owned if made is set */
	int in;              /* owned: the reading end, in an adopted run; or -1 */
	uint64_t id;         /* key of both ends at the supervisor (fdstore.h); 0: it has
			      * no copies */
	bool made, ended;    /* made: the writing end is open; ended: it was closed for
			      * good */
	uint64_t written;    /* bytes that were taken from writers */
	uint64_t read;       /* bytes that the program has read */
	void (*told)(struct job *job); /* called when the feed has changed; or NULL */
};

void feed_init(struct run *run);
/* Makes the pipe. Return: the reading end, for the channel, which owns it; or negative
 * errno. */
int feed_make(struct run *run);
/* Adopts the feed of a killed server's run. t: its replay buffer. */
void feed_take(struct run *run, const struct vm_replay *t);
/* Notes how many bytes the program has read in total. */
void feed_read(struct run *run, uint64_t bytes);
/* Closes the writing end. */
void feed_done(struct run *run);
/* Both close both ends. feed_closed() also calls told(). */
void feed_free(struct run *run);
void feed_closed(struct run *run);

#endif
