/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that is one step of a session: a living interpreter that runs
 * runners/.../session.*. The runner of the session's language has become that
 * interpreter; for bash, the EXEC runner has. Its control socket stays open:
 *
 *   it to init   see begun.h, if the runner starts a fresh interpreter
 *   it to init   R       it is ready, once
 *                S       it has opened the step's fifos and begins
 *                E code  the step is over; code is one byte
 *   init to it   "step MODE FILE DIRECTORY\n"; for TypeScript
 *                "... DIRECTORY typescript\n"
 *
 * DIRECTORY has the fifos in, out, err and result, made anew for each step, so
 * that output of another step cannot come here; and the files args and env,
 * texts that each end with NUL. The first step also has the file was: the
 * variables that every program starts with. There may be the file cwd, the
 * start directory; the program itself, under FILE's last name, to be read
 * instead of FILE; and the directory shelf, for a cell's large results.
 */
#ifndef GUEST_STEP_H
#define GUEST_STEP_H

#include <stdbool.h>

#include "layout/base/err.h"
#include "guest/wire/wire.h"

#define STEP_DIRECTORY "/run/step"

struct job;
struct runner;

struct step {
	bool on; /* the present job is a step */
	bool started;  /* the letter S has come */
	bool coming; /* the letter E has come, and the code behind it has not */
	bool over; /* the interpreter will send no more */
	bool lives; /* the interpreter can run another step */
	int input; /* owned; the fifo `in`, until S comes */
};

/* Returns the runner that becomes the session that spec starts. */
enum wire_runner step_kind(const struct wire_job *spec);
/* Returns the runner that is the session, even if its process has ended; before the
 * first step the one that will become it. */
struct runner *step_runner(struct runner *runners, const struct wire_job *spec);
/* Handles JOB: makes the fifos, from which the job's streams read. Return: 0 or
 * errno. */
int step_begin(struct job *job, struct err *err);
/* Starts the step: sends the session its line, and before the first step makes the
 * runner the session. */
int step_launch(struct job *job, struct err *err);
/*
 * Makes each stream end with the bytes that its fifo has now: the interpreter writes no
 * more to them.
 */
void step_over(struct job *job);
/* Reads the messages of the interpreter and changes the fields of job->step and the
 * job's phase. */
void step_hear(struct job *job);
/* Removes all files of the step. */
void step_end(struct job *job);

#endif
