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

/* The least program that still prints: a machine's first round of heat. */
struct heat_program {
	const char *file, *text;
	const char *argv[3];
};

struct runner_kind {
	const char *name;

	/* Its process. argv[0] is NULL for EXEC, which becomes anything. */
	const char *directory;
	const char *argv[8];
	const char *extra[3]; /* of its environment */
	bool base;            /* it begins with the base variables */
	bool helper_pipes;    /* two pipes on 5..8, see child.c */
	bool own_task;        /* a thread that counts for no job (runners/python/live.h) */
	bool verb_only;       /* it gets the verb's first letter, no message */
	bool says_begun;      /* it says over the control socket how it began */
	bool spare;           /* a fresh one can start with a job's environment, and
				 a shared machine keeps one waiting */
	bool own_home;        /* the one that waits runs a file of the home, which on
				 a shared machine is another job's: no lane uses it */

	/* Its session: the runner that becomes it, and the program that EXEC's starts
	 * for one. NULL: the language has no sessions. */
	enum wire_runner session;
	const char *session_argv[4];
	const char *step_word;     /* behind a step's line, or "" */
	const char *const *obeys;  /* prefixes of variables that it obeys at its start
				      only, or NULL: then a session is given a fresh one */
	bool late_env;             /* a session learns the variables with its first
				      step, not at its start */
	bool forks_late;           /* Ctrl-C goes to a step's new children again, see
				      interrupt.h */

	/* Its heat. */
	struct heat_program nothing;
	const char *usual;   /* the later rounds' program, or NULL: the same */
	const char *thorough; /* a round more in a restored machine, or NULL */
	bool secrets;        /* it draws secrets at its start, which a clone must
				draw anew */
	bool learns;         /* it heats in its own process and keeps what it learns;
				the others heat in a child */
	bool settles;        /* its pages are made writable after each round */
	uint64_t plain_heap; /* bytes of heap that its interpreter has without us;
				0: all */
};

extern const struct runner_kind runner_kinds[WIRE_RUN_MAX];

#endif
