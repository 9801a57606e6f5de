/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one job of this machine, or of this lane.
 *
 *   NONE ── JOB ──► LOADING ── RUN ──► RUNNING ── waitpid ──► ENDING ──► DONE
 *                      │ cannot: FAILED                          ▲ EXIT, files
 *                      └──────────────────────────────► DONE     │
 *   ENDING lasts until every process of the job is dead and its pipes are at
 *   their end: EXIT comes after the last byte.
 *
 * Between RUNNING and ENDING comes LINGERING, if processes are left that may
 * still produce output: they have the pipe of standard output or error open, or
 * a file in the home open for writing. They have linger_ms to end by
 * themselves; those left then are killed. A job that leaves no process goes to
 * ENDING at once; its control group shows that.
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
	int status;                 /* status of the first process, from waitpid() */
	bool asked; /* KILL_ALL has come */
	bool unasked; /* KILL_ALL had not come before waitpid */
	uint64_t let_go; /* sys_now() when the last process had closed its output, or 0 */
	uint32_t left;              /* processes that were killed at the end */
	bool launch; /* RUN has come; job_launch() has not yet started the program */
	struct step step;
	struct begun begun;
	struct thrash thrash;
	struct interrupt interrupt;
	bool starved; /* killed for lack of memory: see thrash.h */
	bool again; /* earlier steps have run in this machine */
	unsigned lane; /* lane of a shared machine, or 0; see lane.h */
	enum wire_runner kind; /* on a lane: the kind of runner for its jobs */
	unsigned serial; /* on a lane: serial number of its control group, see share.h */
	struct drain drain; /* pipes of ended jobs that are still written to */
	char dir[32]; /* directory of the job's files outside the home */
};

/* Prepares what does not depend on the job; call it once, at the start. */
int job_open(struct job *job, struct err *err);
void job_close(struct job *job);
/* Handle a frame. Each returns 0, also if it has sent FAILED because the job cannot
 * run; -EPROTO: the host broke the rules; another error also ends the machine, such as
 * -ENOMEM for a JOB. */
int job_begin(struct job *job, struct port *port, struct runner *runners,
	      const struct frame *frame, struct err *err);
int job_file(struct job *job, struct port *port, const struct frame *frame,
	     struct err *err);
int job_run(struct job *job, struct port *port, const struct frame *frame,
	    struct err *err);
/*
 * Handles ABORT: RUN will not come, and another JOB may. Return: 0 or -EPROTO.
 */
int job_abort(struct job *job, struct err *err);
/*
 * Starts the program; call it after RUN, when no other work is left, because
 * the program then gets the processor. STARTED was queued; it need not be
 * flushed at once.
 */
int job_launch(struct job *job, struct port *port, struct err *err);
int job_stdin(struct job *job, struct port *port, const struct frame *frame,
	      struct err *err);
int job_kill(struct job *job, struct port *port, const struct frame *frame,
	     struct err *err);

/*
 * A program is left alone for this time, unless it ends. Interrupting it, to
 * read its first line of output or to send STARTED, costs a tenth of a short
 * program's time; its pipes hold its output meanwhile.
 */
#define JOB_YOUNG_MS 12
bool job_is_young(const struct job *job);
/* Returns milliseconds until job_check() is due; -1: never. */
int job_check_due(const struct job *job);
/* Kills a program that is out of memory and that the kernel does not kill (thrash.h),
 * and sends SIGINT again (interrupt.h). Does nothing for a job that lingers: job_step()
 * does that. */
void job_check(struct job *job);
/* Handles the end of the first process. */
void job_reaped(struct job *job, int status);
#define JOB_POLL_MAX (STREAM_MAX + 3)
/* Fills in what the job polls. Return: how many entries. */
int job_poll(struct job *job, const struct port *port, struct pollfd *p);
/* Moves bytes between the program's pipes and the port. Reports the end of the job once
 * all its processes and pipes have ended. Return: 0 or the port's error. */
int job_step(struct job *job, struct port *port);

#endif
