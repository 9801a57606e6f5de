/* SPDX-License-Identifier: Apache-2.0 */
/* The state of all runs together; run_phase.c makes and frees it. Context: the loop's
 * thread. */
#ifndef FSD_RUNS_H
#define FSD_RUNS_H

struct run_host;
struct runs;

/* The counts of all runs, and the share of one run in them. */
struct run_counts {
	unsigned running; /* runs that have a machine or wait for one */
	unsigned busy;    /* runs that have a machine */
	unsigned endless; /* busy runs without a timeout */
	unsigned adopted; /* busy runs with a timeout that an earlier server began */
};

/* own, living: the two hosts (run_host.h), borrowed. living is for runs in sessions and
 * sandboxes. Return: 0 or -ENOMEM. */
int runs_new(const struct run_host *own, const struct run_host *living,
	     struct runs **ret);
void runs_free(struct runs *runs);  /* Call it after the last run. NULL is fine. */
/* Return: the present counts, borrowed. */
const struct run_counts *runs_counts(const struct runs *runs);

#endif
