/* SPDX-License-Identifier: Apache-2.0 */
/* The state of all runs together; run_phase.c makes it. On the loop's thread. */
#ifndef FSD_RUNS_H
#define FSD_RUNS_H

struct run_host;
struct runs;

/* The counts of all runs, and the share of one run in them. */
struct run_counts {
	unsigned running; /* hold or wait for a machine */
	unsigned busy;    /* have been given a machine; */
	unsigned endless; /* of these, without a timeout, */
	unsigned adopted; /* of these, by a server before this one */
};

/* The hosts (run_host.h) are borrowed; living: of runs in sessions and sandboxes. Return:
 * 0 or -ENOMEM. */
int runs_new(const struct run_host *own, const struct run_host *living,
	     struct runs **ret);
void runs_free(struct runs *runs);  /* after the last run; NULL is fine */
/* Borrowed; it follows the runs. */
const struct run_counts *runs_counts(const struct runs *runs);

#endif
