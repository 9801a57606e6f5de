/* SPDX-License-Identifier: Apache-2.0 */
/* The state of all runs together; run_phase.c makes it. On the loop's thread. */
#ifndef FSD_RUNS_H
#define FSD_RUNS_H

struct runs;

/* The counts of all runs, and the share of one run in them. */
struct run_counts {
	unsigned running; /* hold or wait for a machine */
	unsigned busy;    /* have been given a machine; */
	unsigned endless; /* of these, without a timeout, */
	unsigned adopted; /* of these, by a server before this one */
};

int runs_new(struct runs **ret);    /* Return: 0 or -ENOMEM. */
void runs_free(struct runs *runs);  /* after the last run; NULL is fine */
/* Borrowed; it follows the runs. */
const struct run_counts *runs_counts(const struct runs *runs);

#endif
