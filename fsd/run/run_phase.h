/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phase of a run, and the step of its end. Each is one value with one setter:
 * run_enter() and run_end_enter(). A table lists which value may follow which. A second
 * table has the facts of each phase, from which the counts of all runs follow. A run may
 * end in any phase. So the step of the end is a value of its own, and the result can
 * still show how far the run came.
 */
#ifndef FSD_RUN_PHASE_H
#define FSD_RUN_PHASE_H

#include <stdbool.h>

struct run;

/*
 *                       accepted   has a machine   counted as
 * RUN_NEW
 * RUN_EARLY                        x               busy
 * RUN_EARLY_LOST_JAILER
 * RUN_QUEUED            x                          running
 * RUN_GRANTED           x          x               running, busy
 * RUN_LOST_JAILER          x                          running
 * RUN_RUNNING ...
 *   RUN_COMPLETE        x          x               running, busy
 * RUN_FOUND, RUN_LOST   x
 * RUN_GONE
 */
enum run_phase {
	RUN_NEW,            /* not accepted: not in job->run; without a machine */
	RUN_EARLY,          /* not accepted; a machine was free, and the run has it */
	RUN_EARLY_LOST_JAILER, /* as RUN_EARLY, but the jailer ended during
			        * run_record() */
	RUN_QUEUED,         /* accepted: it waits for a machine */
	RUN_GRANTED,        /* accepted, with a machine that has no job yet */
	RUN_LOST_JAILER,    /* the record says running, but the jailer ended: the next
			     * server begins the run */
	RUN_RUNNING,        /* vm_run() was called: RUN goes to the machine */
	RUN_STARTED,        /* the program has begun */
	RUN_ENDED,          /* the program has ended: run->exit is valid */
	RUN_COMPLETE,       /* the machine has sent all output */
	RUN_FOUND,          /* made from the store's record, only to be ended */
	RUN_LOST,           /* as RUN_FOUND, but an earlier server began it, and its end
			     * is unknown */
	RUN_GONE,           /* about to be freed */
	RUN_PHASE_MAX
};

/* The facts of a phase. */
struct run_facts {
	const char *name;
	bool accepted; /* recorded on the disk, and in job->run */
	bool granted;  /* the run has a machine, or the host gets it another: counts as
		        * busy */
	bool counted;  /* counts as running: it has a machine or waits for one */
	bool sent;     /* RUN was sent to its machine */
};

/* phase: below RUN_PHASE_MAX. Any context. */
const struct run_facts *run_facts(enum run_phase phase);
/* Return: true if the table allows the step. Any context. */
bool run_phase_may(enum run_phase from, enum run_phase to);
/* Return: the phase that follows when the run is accepted. from: not accepted. */
enum run_phase run_phase_accepted(enum run_phase from);
/*
 * Sets run->phase and updates the counts of all runs. A step that the table does not
 * allow is logged as an error, and done. On the loop or in a fiber; never waits.
 */
void run_enter(struct run *run, enum run_phase phase);

enum run_end_step {
	RUN_END_OPEN,    /* the end is not decided */
	RUN_END_AGAIN,   /* decided: a retry follows, or the end if a user cancels */
	RUN_END_PUBLISH, /* decided: the result is being stored */
	RUN_END_MAX
};


/* Return: true if the table allows the step. Any context. */
bool run_end_may(enum run_end_step from, enum run_end_step to);
/* Sets run->ending.step, as run_enter() sets run->phase. For run_result.c only. */
void run_end_enter(struct run *run, enum run_end_step step);

#endif
