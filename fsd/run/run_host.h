/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host of a run: where its machine comes from and goes to. A run has one host from
 * run_new() on. run_own_host (own_machine.c) gives each run a machine that ends with it.
 * The host of fsd/living gives it a place in a machine that outlives it: a session's or
 * a sandbox's. So this room need not know of these. All calls: on the loop or in a
 * fiber; none waits.
 */
#ifndef FSD_RUN_HOST_H
#define FSD_RUN_HOST_H

#include "fsd/fsd.h"

struct run;
struct vm_replay;

struct run_host {
	bool stays; /* its machines outlive their runs */
	/* Has the run wait for all that comes before its inputs. Return: as run_ask(). */
	int (*ask)(struct run *run, struct err *err);
	/* To the run's log: why it waits, if it does. */
	void (*tell)(struct run *run);
	/* What its machine has besides the image: a reference, or NULL for base.
	 * Return: 0 or negative errno with a sentence; -EINVAL: it will never be there. */
	int (*environment)(struct run *run, struct environment **ret, struct err *err);
	/* The config of the machine that it shares with others, borrowed. NULL: its own
	 * config holds. */
	const struct job_config *(*shared)(const struct run *run);
	/* The run has all that it needs: run_begin() or run_events.failed() follows.
	 * Return: 0, or negative errno with a sentence. */
	int (*lease)(struct run *run, struct err *err);
	/* Takes back the machine or the place; run->lease is NULL afterwards. No-op
	 * without one. */
	void (*leave)(struct run *run);
	/* The machine is lost, by what the run was told. Return: true if the host will
	 * know more soon, and then fails the run. */
	bool (*put_off)(struct run *run, const char *sentence);
	/* The machine has refused the run before any of it ran. Return: true if the run
	 * begins again, in another interpreter. */
	bool (*retry)(struct run *run);
	/* Can the next server go on with the run? */
	bool (*outlives)(const struct run *run);
	/* Says on its replay buffer where the run is. */
	void (*sign)(const struct run *run, struct vm_replay *t);
	/* Finds the machine of a killed server's run, whose replay buffer was recovered:
	 * run->lease. Before the loop runs. Return: 0 or negative errno. */
	int (*adopt)(struct run *run, struct vm_replay *t);
};

extern const struct run_host run_own_host;

#endif
