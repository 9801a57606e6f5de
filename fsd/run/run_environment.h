/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a run: the files that its machine has besides the image.
 * run_environment.c alone writes struct run_environment. All calls: on the loop or in a
 * fiber; none waits.
 */
#ifndef FSD_RUN_ENVIRONMENT_H
#define FSD_RUN_ENVIRONMENT_H

#include "fsd/fsd.h"

struct job_result;
struct run;

struct run_environment {
	struct environment *of; /* owned reference; NULL: base */
	char *id;               /* owned; NULL: base, or not known yet */
	const char *name;       /* text behind the id, in the same memory; or a
				 * constant */
	char *fresh_why;        /* owned sentence: why the run cannot use a warm interpreter
				 * and gets a new one; NULL: it can */
	uint64_t making_ns;     /* when it began to wait for a template; 0: it does not */
};

/* Sets the run's environment to e and takes a reference of its own. NULL: base. */
void run_has_environment(struct run *run, struct environment *e);
/* Sets the id and the name that the result shows. id "": base. */
void run_name_environment(struct run *run, const char *id, const char *name);
/* Finds and sets the environment that the config names. Return: 0 or negative errno with
 * a sentence: it does not exist, or was removed meanwhile. */
int run_find_environment(struct run *run, struct err *err);
/* Sets fresh_why: checks whether the program could notice that its interpreter was
 * started before its config was known. Return: 0 or -ENOMEM. */
int run_find_why(struct run *run);
/* Sets fresh_why to this sentence. Return: 0 or -ENOMEM. */
__attribute__((format(printf, 2, 3))) int
run_say_why(struct run *run, const char *fmt, ...);
/* Begins to measure how long the run waits for its template. */
void run_begin_making(struct run *run);
/* Writes to the job's log how far the making of the environment's template is. */
void run_tell_making(struct run *run, const char *step);
void run_fill_environment(struct run *run, struct job_result *res);
/* Drops the reference; the result can still name the environment. */
void run_drop_environment(struct run *run);
void run_environment_done(struct run *run);

#endif
