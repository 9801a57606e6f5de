/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that is one step of a living interpreter (runners/.../session.*). The
 * interpreter is what its language's runner has become, or, for bash, the EXEC
 * runner. Its control socket stays:
 *
 *   it to init   see begun.h, if the runner starts a fresh interpreter
 *   it to init   R       it is ready, once
 *                S       it has opened the step's fifos and begins
 *                E code  the step is over; code is one byte
 *   init to it   "step MODE FILE DIRECTORY\n"; of TypeScript "... DIRECTORY typescript\n"
 *
 * In DIRECTORY are the fifos in, out, err and result, new for each step, so
 * that what belongs to another one never comes here; and the files args and
 * env, texts each ended by NUL. The first step has the file was, too: what the
 * variables are that every program begins with. There may be cwd, the directory to
 * go to first; the program itself, by FILE's last name, to be read in FILE's place;
 * and the directory shelf, for a cell's large results in place of the home.
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
	bool on;       /* this job is one */
	bool started;  /* S has come */
	bool coming;   /* E has come, its code has not */
	bool over;     /* no more will be said */
	bool lives;    /* ... and another step may follow */
	int input;     /* owned; the fifo `in`, until S */
};

/* Return: the runner that is to be the session which spec begins. */
enum wire_runner step_kind(const struct wire_job *spec);
/* Return: the session's runner, which may have ended, or who is to be it. */
struct runner *step_runner(struct runner *runners, const struct wire_job *spec);
/* At JOB: the fifos, of which the job's streams read. Return: 0 or errno. */
int step_begin(struct job *job, struct err *err);
/* Instead of the message that starts a program. */
int step_launch(struct job *job, struct err *err);
/* The interpreter says no more: what its fifos hold now is the rest. */
void step_over(struct job *job);
/* Takes what the interpreter has said. step.started tells the caller that it has begun. */
void step_hear(struct job *job);
/* At its end: nothing is left of it. */
void step_end(struct job *job);

#endif
