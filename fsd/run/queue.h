/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait of a run, from run_ask() until it has a machine. queue.c and own_machine.c
 * alone write struct run_queue. All calls: on the loop or in a fiber; none waits.
 */
#ifndef FSD_RUN_QUEUE_H
#define FSD_RUN_QUEUE_H

#include "fsd/builds/builds.h"
#include "fsd/fsd.h"

struct run;

struct run_queue {
	struct build_wait build; /* for its environment */
	bool built;              /* there was a build, and it has ended well */
	struct time_slice collect; /* inputs are listed when it is its turn */
	unsigned put_back;       /* so often the disk had no room for its record */
};

/* It waits for its turn, collects its inputs, asks for a machine. */
void run_queue(struct run *run);
/* The same for a run that is not accepted. Return: 0, also if it waits; 1:
 * run_collect_later() is to follow; negative errno with a sentence. */
int run_ask(struct run *run, struct err *err);
/* The same after the first wait of its host: it is prepared, and its inputs are listed
 * for a moment. */
int run_get_ready(struct run *run, struct err *err);
/* Its place among the runs that a server before this one had queued; 0: it is none of
 * them. */
uint64_t run_queued_before(const struct run *run);
/* It has its place, and its inputs are listed, now or later. */
void run_make_ready(struct run *run);
/* Lists more inputs now, whether it may have its machine or not. */
void run_collect_more(struct run *run);
/* Lists the rest when it is the run's turn; the second stops that. */
void run_collect_later(struct run *run);
void run_collect_stop(struct run *run);
/* Gives up its inputs, unless one of them is nowhere else: they are listed again. */
void run_forget_inputs(struct run *run);
/* Waits for its turn again, without a machine. Return: false if it was put back too
 * often, or nothing can be kept. */
bool run_put_back_queued(struct run *run);
/* There will be no machine for it. why: a sentence. */
void run_no_machine(struct run *run, const char *why);
void run_queue_done(struct run *run);

#endif
