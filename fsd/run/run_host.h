/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host of a run: a table of functions that gets the run a machine and takes it back.
 * A run has one host from run_new() on. run_own_host (own_machine.c) gives each run a
 * machine that ends with it. The host in fsd/living gives the run a seat in the machine
 * of a session or a sandbox, which outlives the run. So fsd/run does not depend on
 * fsd/living. All calls: on the loop or in a fiber; none waits.
 */
#ifndef FSD_RUN_HOST_H
#define FSD_RUN_HOST_H

#include "fsd/fsd.h"

struct run;
struct vm_replay;

struct run_host {
	bool stays; /* machines of this host outlive their runs */
	/* Queues the run for a machine. Its inputs are listed when its turn comes.
	 * Return: as run_ask(). */
	int (*ask)(struct run *run, struct err *err);
	/* Writes to the job's log why the run waits, if it waits. */
	void (*tell)(struct run *run);
	/* Gets the environment of its machine: *ret is a reference, or NULL for base.
	 * Return: 0 or negative errno with a sentence; -EINVAL: a retry would not
	 * help. */
	int (*environment)(struct run *run, struct environment **ret, struct err *err);
	/* The config of the machine that the run shares with other runs, borrowed. NULL:
	 * the run does not share its machine. */
	const struct job_config *(*shared)(const struct run *run);
	/* Asks for the machine, once the run is granted and its inputs are listed.
	 * run_begin() or run_events.failed() follows. Return: 0, or negative errno with a
	 * sentence. */
	int (*lease)(struct run *run, struct err *err);
	/* Takes back the machine or the seat; run->lease is NULL afterwards. Does nothing
	 * if the run has neither. */
	void (*leave)(struct run *run);
	/* vm has reported the machine as lost; sentence: why. Return: true if the host
	 * will soon know a better reason; it calls run_fail() then. */
	bool (*put_off)(struct run *run, const char *sentence);
	/* The machine has refused the run, and no part of the program has run. Return:
	 * true if the host begins the run again, in another interpreter. */
	bool (*retry)(struct run *run);
	/* True if the next server can adopt the run. */
	bool (*outlives)(const struct run *run);
	/* Writes into the run's replay buffer which machine, or seat, the run has. */
	void (*sign)(const struct run *run, struct vm_replay *t);
	/* Adopts the machine of a killed server's run and sets run->lease. The caller has
	 * checked the fields of t. Before the loop runs. Return: 0 or negative errno. */
	int (*adopt)(struct run *run, struct vm_replay *t);
};

extern const struct run_host run_own_host;

#endif
