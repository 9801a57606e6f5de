/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of runners: one table row for each WIRE_RUN_ of guest/wire/wire.h. A row
 * says how the interpreter starts, how it becomes a session, what heats it, and in what
 * it differs from the others. A new language is a row here. No state.
 */
#ifndef GUEST_RUNNER_KIND_H
#define GUEST_RUNNER_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/wire/wire.h"

#define RUNNERS "/usr/lib/fsd/runners"

/* The smallest program that prints: the first round of a machine runs it. */
struct heat_program {
	const char *file, *text;
	const char *argv[3];
};

struct runner_kind {
	const char *name;

	/* The runner's process. argv[0] is NULL for EXEC, which executes any program. */
	const char *directory;
	const char *argv[8];
	const char *extra[3]; /* further variables of the runner's environment */
	bool base;            /* the interpreter starts with the base variables */
	bool helper_pipes;    /* two pipes on 5..8, see child.c */
	bool own_task;        /* the interpreter has a thread that no job's limit counts
			       * (runners/python/live.h) */
	bool verb_only;       /* init sends it only the verb's first letter */
	bool says_begun;      /* the interpreter reports over the control socket how it
			       * began */
	bool spare;           /* a fresh process can start with a job's environment;
				 a shared machine keeps one waiting */
	bool own_home;        /* the waiting process runs a file of the home, which is
				 another job's on a shared machine: no lane uses it */

	enum wire_runner session;  /* the runner that becomes a session */
	const char *session_argv[4]; /* argv of a session that EXEC's runner starts;
					[0] NULL: the language has no sessions */
	const char *step_word;     /* appended to a step's line, or "" */
	/* prefixes of variables that the interpreter reads only at its start: a session
	 * with one gets a fresh process. NULL: the runner itself can start a fresh
	 * interpreter. */
	const char *const *obeys;
	bool late_env;             /* a session gets the variables with its first
				      step, not at its start */
	bool forks_late;           /* Ctrl-C is sent to a step's new children, too: see
				      interrupt.h */

	/* How the runner is heated. */
	struct heat_program nothing; /* program of the first round */
	const char *usual;   /* program of the later rounds; NULL: `nothing` */
	const char *thorough; /* program of one more round in a restored machine, or NULL */
	bool secrets;        /* the interpreter draws secrets at its start; a clone must
			      * draw new ones */
	bool learns;         /* the interpreter heats in its own process and keeps what it
			      * learns; the others heat in a child */
	bool settles;        /* pages are made writable after each round of heat */
	uint64_t plain_heap; /* bytes of heap of its interpreter without our runner;
				0: all */
};

extern const struct runner_kind runner_kinds[WIRE_RUN_MAX];

#endif
