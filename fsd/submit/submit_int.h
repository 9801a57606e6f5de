/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by commit*.c only. */
#ifndef FSD_SUBMIT_INT_H
#define FSD_SUBMIT_INT_H

#include <errno.h>

#include "submit.h"
#include "fsd/jobs/parsed_config.h"
#include "fsd/run/run.h"

/* What looking at a job comes to. */
enum verdict {
	ABSENT, /* something that it needs is not there */
	OPEN,   /* all is there, and somebody is still writing some of it */
	HELD,   /* complete; it waits for a word of ctl, or another name */
	WRONG,  /* what it says cannot be; err has the sentence */
	FAILED, /* this cannot be told or stored, or there is no place now; err has
		   the sentence and the errno */
	READY,
};

/* Of the checks that return -EINVAL for what the job says, and for nothing else. */
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

/* The whole job. On READY *spec is to be given to run_start(). */
enum verdict submit_examine(struct job *job, bool by_ctl, struct run_spec *spec,
			    struct err *err);
/* The same without what the disk has taken of it. Waits for nothing if the job is
 * loaded. closing: a file of it that a close is about to release, or NULL: that
 * handle does not count as a writer. */
enum verdict submit_examine_contents(struct job *job, bool by_ctl,
				     const struct node *closing, struct run_spec *spec,
				     struct err *err);
/* Keeps a READY verdict (takes spec) for the next submit_examine_contents(), which takes
 * it over if none of the job's files has changed, and closing was released, since. */
void submit_keep_ready(struct job *job, struct node *closing,
		       struct run_spec *spec);
/* Drops it: it holds a reference to that file. */
void submit_forget_ready(struct job *job);
/* What is done about a job once its large config.json is parsed, by the
 * chores' thread, or its many files are loaded. */
struct submit_deferred {
	struct list waits; /* of struct submit_wait */
	bool evaluate, config_closed, restart;
	struct time_slice load;
	struct job *job;   /* a reference, while loading */
};

/* True if looking at the job has to wait; without memory it never does. */
bool submit_defer(struct job *job);
enum verdict submit_find_code(struct job *job, const struct job_config *config,
			      const struct node *closing,
			      struct node **ret_code, struct err *err);
/* check_code.c: sets the spec's language, and what is left out of the code. */
enum verdict submit_check_code(struct job *job, struct run_spec *spec,
			       struct err *err);
int submit_code_too_large(const struct node *code, struct err *err);
enum verdict submit_check_inputs(struct job *job,
				 const struct job_config *config,
				 const struct node *closing, struct err *err);
/* May it start now, if it is to? READY, WRONG or FAILED. */
enum verdict submit_check_limits(struct job *job, const struct job_config *config,
				 struct err *err);
/* It is on record as queued, by whoever was before us. */
bool submit_is_leftover(const struct job *job);
void submit_take_up(struct job *job);
/* The server before has promised it, and the release is still to come. */
void submit_accept_again(struct job *job);
#define SUBMIT_ACCEPTED_BEFORE "it was accepted, but cannot be run any more"
/* v: WRONG or FAILED. The sentence of err is in the job's `error` from now on. */
void submit_refuse(struct job *job, enum verdict v, const struct err *err);

#endif
