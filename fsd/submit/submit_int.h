/* SPDX-License-Identifier: Apache-2.0 */
/* For this room only: verdicts, and the steps of an examination. On the loop's thread. */
#ifndef FSD_SUBMIT_INT_H
#define FSD_SUBMIT_INT_H

#include <errno.h>

#include "submit.h"
#include "fsd/jobs/parsed_config.h"
#include "fsd/run/run.h"

/* The result of examining a job. */
enum verdict {
	ABSENT, /* a part is missing */
	OPEN,   /* all parts exist, but a process still has one open for writing */
	HELD,   /* complete; waits for `start` in ctl, or for a rename of the job */
	WRONG,  /* the job is wrong; err has the sentence */
	FAILED, /* the job cannot be read or stored, or the queue is full; err has the
		 * sentence and the errno */
	READY,  /* the job may start */
};

/* Converts the result of a check that returns -EINVAL only for a wrong job. */
static inline enum verdict verdict_of(int r)
{
	return r == 0 ? READY : r == -EINVAL ? WRONG : FAILED;
}

static inline bool verdict_is_no(enum verdict v)
{
	return v == WRONG || v == FAILED;
}

static inline bool verdict_is_wait(enum verdict v)
{
	return v == ABSENT || v == OPEN || v == HELD;
}

/* Examines the whole job. by_ctl: for `start` in ctl, which needs no config.json. On
 * READY the caller owns *spec: run_start() takes it, run_spec_done() frees it. */
enum verdict submit_examine(struct job *job, bool by_ctl, struct run_spec *spec,
			    struct err *err);
/* Like submit_examine(), without the check for inputs whose fsync(2) failed. Does not
 * wait if the job's files are loaded. closing: a file whose close is being answered,
 * which does not count as a writer; or NULL. */
enum verdict submit_examine_contents(struct job *job, bool by_ctl,
				     const struct node *closing, struct run_spec *spec,
				     struct err *err);
/* Keeps a READY verdict (takes spec). The next submit_examine_contents() uses it, if no
 * file of the job has changed since, and closing has no writer any more or is still the
 * file that is being closed. */
void submit_keep_ready(struct job *job, struct node *closing,
		       struct run_spec *spec);
/* Drops the kept verdict, and its reference to closing. */
void submit_forget_ready(struct job *job);
/* The work that waits until a worker thread has parsed a large config.json, or until many
 * files are loaded. */
struct submit_deferred {
	struct list waits; /* callers that wait: struct submit_wait, borrowed */
	bool evaluate;     /* call submit_evaluate() */
	bool config_closed; /* argument of submit_evaluate() */
	bool restart;      /* call submit_restart() */
	struct time_slice load; /* loads files */
	struct job *job;   /* a reference, while loading; or NULL */
};

/* Return: true if the examination must wait: job->submit.later says what is done then.
 * Out of memory: false, and the examination blocks. */
bool submit_defer(struct job *job);
/* Finds the program. On READY *ret_code (borrowed) is its file, or NULL: the config has
 * the program, or needs none. */
enum verdict submit_find_code(struct job *job, const struct job_config *config,
			      const struct node *closing,
			      struct node **ret_code, struct err *err);
/* check_code.c: checks the program, and sets spec->lang and spec->code_skip. */
enum verdict submit_check_code(struct job *job, struct run_spec *spec,
			       struct err *err);
/* Sets err's sentence. Return: -EFBIG. */
int submit_code_too_large(const struct node *code, struct err *err);
/* Checks that each file of "inputs" exists and is closed. */
enum verdict submit_check_inputs(struct job *job,
				 const struct job_config *config,
				 const struct node *closing, struct err *err);
/* Checks that a new job may start now: the mount is not read-only or draining, the job
 * fits, the queue has a place. Return: READY, WRONG or FAILED. */
enum verdict submit_check_limits(struct job *job, const struct job_config *config,
				 struct err *err);
/* Return: true for a job that an earlier server accepted and that has no run yet. */
bool submit_is_leftover(const struct job *job);
/* Starts a job of submit_is_leftover(); if that is impossible, the job ends as "failed".
 * Its files are loaded. */
void submit_take_up(struct job *job);
/* For a job that an earlier server accepted at close(2), before the kernel sent the
 * release: makes it a draft with that acceptance. */
void submit_accept_again(struct job *job);
#define SUBMIT_ACCEPTED_BEFORE "it was accepted, but cannot be run any more"
/* Refuses the job. v: WRONG or FAILED. Writes the sentence of err to `error` and to the
 * log. */
void submit_refuse(struct job *job, enum verdict v, const struct err *err);

#endif
