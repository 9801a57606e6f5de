/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's way to its machine: from run_ask() until its host leases one. queue.c and
 * own_machine.c alone write struct run_queue. All calls: on the loop or in a fiber; none
 * waits. A call without a result ends the run on an error, with a sentence.
 */
#ifndef FSD_RUN_QUEUE_H
#define FSD_RUN_QUEUE_H

#include "fsd/builds/builds.h"
#include "fsd/fsd.h"

struct run;

struct run_queue {
	struct build_wait build; /* the wait for a build of its environment */
	bool built;              /* that build has ended well */
	struct time_slice collect; /* lists inputs, a slice at a time */
	unsigned put_back;       /* how often the disk had no space for its record */
};

/* Queues an accepted run: it waits for its turn, lists its inputs, asks for a machine. */
void run_queue(struct run *run);
/* Like run_queue(), for a run that is not accepted yet. Return: 0, also if the run waits;
 * 1: call run_collect_later(); negative errno with a sentence. */
int run_ask(struct run *run, struct err *err);
/* For the host, when the run's turn has come: prepares the run, lists inputs for a
 * millisecond, and asks for the machine when all are listed. Return: as run_ask(). */
int run_get_ready(struct run *run, struct err *err);
/* Return: the run's place among the runs that an earlier server had queued; 0: this server
 * has queued it. */
uint64_t run_queued_before(const struct run *run);
/* Like run_get_ready(), and lists the rest of the inputs later. */
void run_make_ready(struct run *run);
/* Lists inputs for a millisecond, also if the run is not granted yet. */
void run_collect_more(struct run *run);
/* run_collect_later() lists the rest of the inputs in time slices; run_collect_stop()
 * stops that. */
void run_collect_later(struct run *run);
void run_collect_stop(struct run *run);
/* Frees the list of inputs while the run waits. They are listed again later. */
void run_forget_inputs(struct run *run);
/* Requeues a granted run that has given back its machine. Return: false: it was requeued
 * too often, or there is no memory. */
bool run_put_back_queued(struct run *run);
/* Ends the run, which will get no machine. why: a sentence. */
void run_no_machine(struct run *run, const char *why);
void run_queue_done(struct run *run);

#endif
