/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a run: what its machine has besides the image. run_environment.c
 * alone writes struct run_environment. All calls: on the loop or in a fiber; none waits.
 */
#ifndef FSD_RUN_ENVIRONMENT_H
#define FSD_RUN_ENVIRONMENT_H

#include "fsd/fsd.h"

struct job_result;
struct run;

struct run_environment {
	struct environment *of; /* a reference; NULL: base */
	char *id;               /* owned, from its begin on; NULL: base */
	const char *name;       /* behind the id; or a constant */
	char *fresh_why;        /* owned: why an interpreter was begun for the run;
				 * NULL: a warm one will do */
	uint64_t making_ns;     /* since it waits for a template; 0: it does not */
};

/* The run has e, which is borrowed, and is named after it. */
void run_has_environment(struct run *run, struct environment *e);
/* Names it for the result. id "": base. */
void run_name_environment(struct run *run, const char *id, const char *name);
/* Finds the one that its config names. Return: 0 or negative errno with a sentence: it
 * is not there, or not any more. */
int run_find_environment(struct run *run, struct err *err);
/* Finds why a warm interpreter would be seen to be one, for fresh_why. Return: 0 or
 * -ENOMEM. */
int run_find_why(struct run *run);
__attribute__((format(printf, 2, 3))) int
run_say_why(struct run *run, const char *fmt, ...);
/* From now on the time until its template is there is measured. */
void run_begin_making(struct run *run);
/* To the job's log: its environment's template is made, and how far it is. */
void run_tell_making(struct run *run, const char *step);
void run_fill_environment(struct run *run, struct job_result *res);
/* Gives up the environment; the result can still name it. */
void run_drop_environment(struct run *run);
void run_environment_done(struct run *run);

#endif
