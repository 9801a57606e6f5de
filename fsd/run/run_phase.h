/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a run has come, and how far its end has come. Each is one value with one
 * setter: run_enter() and run_end_enter(). A table says which value may follow which.
 * Another one says what a phase means, also for the counts of all runs. A run may end
 * in any phase, so the step of the end is a value of its own: the result still says
 * how far the run came.
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
	RUN_NEW,            /* the job does not have it yet, and it has no machine */
	RUN_EARLY,          /* the same, with a machine, which was at hand */
	RUN_EARLY_LOST_JAILER, /* the jailer ended while its record was written */
	RUN_QUEUED,         /* accepted: it waits for a machine */
	RUN_GRANTED,        /* accepted, with a machine that has no job yet */
	RUN_LOST_JAILER,    /* on record as running, without a machine: the next
			     * server begins it */
	RUN_RUNNING,        /* RUN was sent to its machine: vm_run() */
	RUN_STARTED,        /* the program's first instruction */
	RUN_ENDED,          /* run->exit is valid */
	RUN_COMPLETE,       /* the machine has given all of its output */
	RUN_FOUND,          /* made from the store's record, to end at once */
	RUN_LOST,           /* the same; the record says that it runs, and no more */
	RUN_GONE,           /* about to be freed */
	RUN_PHASE_MAX
};

/* The meaning of a phase. */
struct run_facts {
	const char *name;
	bool accepted; /* on record, and the job's */
	bool granted;  /* it has a machine, or the promise of another one: busy */
	bool counted;  /* running */
	bool sent;     /* RUN was sent to its machine */
};

/* phase: below RUN_PHASE_MAX. Any context. */
const struct run_facts *run_facts(enum run_phase phase);
/* May a run go from one phase to the other? Any context. */
bool run_phase_may(enum run_phase from, enum run_phase to);
/* The phase of a run that the job has taken. from: one that is not accepted. */
enum run_phase run_phase_accepted(enum run_phase from);
/*
 * The only writer of run->phase and of the counts of all runs. A
 * step that the table does not have is an error in the log, and is done. On the loop
 * or in a fiber; never waits.
 */
void run_enter(struct run *run, enum run_phase phase);

enum run_end_step {
	RUN_END_OPEN,    /* its end is not known */
	RUN_END_AGAIN,   /* it is known; the job may have another run instead */
	RUN_END_PUBLISH, /* it goes into the store */
	RUN_END_MAX
};


/* May the end of a run go from one step to the other? Any context. */
bool run_end_may(enum run_end_step from, enum run_end_step to);
/* As run_enter(), of run->ending.step. For run_result.c. */
void run_end_enter(struct run *run, enum run_end_step step);

#endif
