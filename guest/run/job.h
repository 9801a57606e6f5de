/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one job of this machine.
 *
 *   NONE ── JOB ──► LOADING ── RUN ──► RUNNING ── waitpid ──► ENDING ──► DONE
 *                      │ cannot: FAILED                          ▲ EXIT, files
 *                      └──────────────────────────────► DONE     │
 *   ENDING lasts until every process of the job is dead and its pipes are at
 *   their end: EXIT comes after the last byte.
 *
 * Between RUNNING and ENDING comes LINGERING, if processes are left which may
 * have something to say: they hold the pipe of standard output or error, or a
 * file in the home that is open for writing. They have linger_ms to end by
 * themselves, and what is left then is killed. A job that leaves no process
 * goes to ENDING at once; its control group tells.
 */
#ifndef GUEST_JOB_H
#define GUEST_JOB_H

#include <poll.h>

#include "begun.h"
#include "drain.h"
#include "guest/files/files.h"
#include "interrupt.h"
#include "guest/os/port.h"
#include "runner.h"
#include "step.h"
#include "stream.h"

enum job_phase {
	JOB_NONE,
	JOB_LOADING,
	JOB_RUNNING,
	JOB_LINGERING,
	JOB_ENDING,
	JOB_DONE
};

enum job_stream { STREAM_OUT, STREAM_ERR, STREAM_RESULT, STREAM_MAX };

struct job {
	enum job_phase phase;
	struct wire_job spec;       /* owned */
	struct runner *runner;      /* borrowed */
	struct files files;
	struct stream stream[STREAM_MAX];
	struct input_stream input;
	uint64_t received;          /* sys_now() when JOB came */
	uint64_t started;           /* sys_now() at RUN */
	uint64_t ended;             /* sys_now() at waitpid */
	int status;                 /* of waitpid */
	bool asked;                 /* KILL_ALL has come */
	bool unasked;               /* it had not at waitpid */
	uint64_t let_go;            /* sys_now() when nobody lingered, or 0 */
	uint32_t left;              /* processes that were killed at the end */
	bool launch;                /* RUN came; the runner waits for word */
	struct step step;
	struct begun begun;
	struct thrash thrash;
	struct interrupt interrupt;
	bool starved;               /* killed: see thrash.h */
	bool again;                 /* steps have been before this one */
	unsigned lane;              /* of a shared machine, or 0; see lane.h */
	enum wire_runner kind;      /* of a lane: who runs its jobs */
	unsigned serial;            /* of the lane's group: see share.h */
	struct drain drain;         /* what is over for the job and still written */
	char dir[32];               /* what is the job's and not in its home */
};

/* Once, at start-up: what can be ready before there is a job. */
int job_open(struct job *job, struct err *err);
void job_close(struct job *job);
/* Each: 0; -EPROTO, the host broke the rules; else FAILED has been sent. */
int job_begin(struct job *job, struct port *port, struct runner *runners,
	      const struct frame *frame, struct err *err);
int job_file(struct job *job, struct port *port, const struct frame *frame,
	     struct err *err);
int job_run(struct job *job, struct port *port, const struct frame *frame,
	    struct err *err);
/* RUN will not come, and another JOB may. Return: 0 or -EPROTO. */
int job_abort(struct job *job, struct err *err);
/*
 * After RUN, when nothing else is left to do: from here on the processor is
 * the program's. STARTED has been put but need not be flushed at once.
 */
int job_launch(struct job *job, struct port *port, struct err *err);
int job_stdin(struct job *job, struct port *port, const struct frame *frame,
	      struct err *err);
int job_kill(struct job *job, struct port *port, const struct frame *frame,
	     struct err *err);

/*
 * To take the processor from the program, for its first line of output or to
 * say STARTED, costs a tenth of a short one's time. So a program is left alone
 * at first, unless it ends; its pipes hold what it writes meanwhile.
 */
#define JOB_YOUNG_MS 12
bool job_is_young(const struct job *job);
/* Milliseconds until job_check() is due; -1: never. */
int job_check_due(const struct job *job);
/* Ends a program that has no memory and will not end of it, or what lingers. */
void job_check(struct job *job);
/* The first process has ended. */
void job_reaped(struct job *job, int status);
#define JOB_POLL_MAX (STREAM_MAX + 3)
/* Fills what the job waits for. Return: how many. */
int job_poll(struct job *job, const struct port *port, struct pollfd *p);
/* Moves bytes; ends the job when all is there. Return: 0 or the port's
 * error. */
int job_step(struct job *job, struct port *port);

#endif
