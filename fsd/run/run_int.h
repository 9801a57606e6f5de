/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by this room and fsd/living, which is the host of some runs. */
#ifndef FSD_RUN_INT_H
#define FSD_RUN_INT_H

#include "fsd/base/arena.h"
#include "fsd/jobs/job_log.h"
#include "run.h"
#include "run_phase.h"
#include "runs.h"
#include "inputs.h"
#include "queue.h"
#include "run_host.h"
#include "run_environment.h"
#include "run_feed.h"
#include "output_queue.h"
#include "run_output.h"
#include "fsd/sched/sched.h"

#include "vm/channel/replay.h"

/* A start says this of a run that is on record as running, and a server with a read-only
 * disk of one that has ended since: a job gets one end only. */
#define RUN_NO_END "fsd or its host ended while the program ran, or the disk " \
		   "did not take its end"

/* A result on its way into the store. */
struct run_end {
	struct job_meta meta; /* as it is to be on record; its name is borrowed */
	struct job_result res;
	char id[STORE_ID_SIZE];
	char *name;        /* owned: the job's, as it was */
	char message[1100];
	struct result_attempt *attempts; /* owned; NULL: this is the first */
	char *attempts_text; /* owned: their messages */
	uint64_t stored;   /* bytes of result.json */
	uint64_t ended_ns; /* CLOCK_REALTIME, when it was found */
	bool cuts_said;    /* run_say_cuts() */
	int result;        /* of the last attempt: 0 or negative errno */
};

/* The record of a run in the store. start.c alone writes it. */
struct run_record {
	bool stored;    /* there is a place for its results */
	bool writes;    /* that it runs, now */
	bool reset;     /* a directory that it may find is its own, and holds nothing
			 * of an earlier try but its order */
	uint64_t at_ns; /* CLOCK_REALTIME: of the last run_record() */
};

/* When it came how far, as now_ns() has it; 0: it did not. run_events.c alone writes
 * it. */
struct run_times {
	uint64_t queued_ns, granted_ns, started_ns, exited_ns;
	uint64_t started_real_ns; /* started_ns as CLOCK_REALTIME */
};

/* The machine that it has or had, for its result. run_events.c alone writes it. */
struct run_machine {
	const char *source, *accel; /* borrowed constants */
	char template_id[32];
};

/* The rest of an end. A thread copies struct run_end to and fro, and never this. Written
 * by run_result.c; run_say_cuts() adds lines. */
struct run_ending {
	enum run_end_step step; /* run_end_enter() alone writes it */
	struct fiber *waiter;   /* for the store, or NULL */
	struct job_lines lines; /* of the job, while that is ending */
	bool said;              /* the log says how it ended */
};

/* Its place in a machine that outlives it. fsd/living alone writes it. */
struct run_living {
	struct seat *seat; /* borrowed: where it waits or is, or NULL */
	struct list in_session, in_sandbox;
	uint64_t step;     /* of the session, from 1; 0: not begun */
};

struct run {
	struct job *job;    /* owns us; NULL: it was removed while we were busy */
	struct fsd *d;
	unsigned number;
	struct run_spec spec;
	struct vm_lease *lease; /* owned, vm_end(); or the host's */
	const struct run_host *host; /* borrowed */
	struct run_living living;
	struct run_queue queue;
	struct vm_job vm_job;
	struct run_inputs inputs;
	struct run_environment environment;
	struct arena texts;       /* paths of inputs and of files */
	struct run_feed feed;
	struct wire_strings argv, envp; /* owned arrays of owned strings */

	struct run_stream stream[VM_STREAM_MAX]; /* VM_RESULT: what was shown */
	struct output_queue output_queue;
	struct run_value value;

	unsigned busy;   /* fibers that are at it: they need it, and end it if
			    its job is no more */
	enum run_phase phase;     /* run_enter() alone writes it, and counts */
	struct run_counts counts;
	struct run_record record;
	enum vm_failure why; /* before it was accepted, with end.message; or
			      * RUN_NOT_FAILED */
	bool timed_out, cancelled;
	bool final;      /* another run of the job would end like this one */
	struct run_ending ending;
	struct run_end end;
	bool adopted;    /* begun by a server that is dead */
	struct sched_slot slot;
	struct wire_exit exit;
	struct loop_timer timer; /* the timeout, then the grace, then the next attempt to
				  * store the end */
	struct run_tree tree;
	struct run_times times;
	struct run_machine machine;
};

extern const struct vm_events run_events;

static inline bool run_is_accepted(const struct run *run)
{
	return run_facts(run->phase)->accepted;
}

static inline bool run_is_granted(const struct run *run)
{
	return run_facts(run->phase)->granted;
}

/* Was its machine told to run it? */
static inline bool run_is_sent(const struct run *run)
{
	return run_facts(run->phase)->sent;
}

/* Did its program begin, as far as its machine has said? */
static inline bool run_has_started(const struct run *run)
{
	return run->times.started_ns;
}

/* Has its program ended? Then run->exit is valid. */
static inline bool run_has_exit(const struct run *run)
{
	return run->phase == RUN_ENDED || run->phase == RUN_COMPLETE;
}

/* Its end is known, and no other may come. */
static inline bool run_is_ending(const struct run *run)
{
	return run->ending.step != RUN_END_OPEN;
}

/*
 * run_prepare.c: fills vm_job from the spec and the job's files, but for the
 * inputs, which are run_collect()'s. Return: 0 or negative errno with a sentence.
 */
int run_prepare(struct run *run, struct err *err);
/* Gives up that, and the inputs. */
void run_unprepare(struct run *run);
/* The place of its program in the machine, below the home. Borrowed. */
const char *run_code_name(const struct run *run);
/* For run_expect(). */
void run_note_environment(const struct run *run);

/*
 * run_result.c: takes down what came of it, then renders and publishes it by a
 * thread, posts the last event, gives up the machine, frees the run. Or another
 * one follows: run_again(). Anywhere; what may wait is done by a fiber.
 */
void run_finish(struct run *run, enum job_status status, const char *message);
/* In run->why, until the run is accepted: no machine and no session was asked. */
#define RUN_FAILED_UNASKED VM_FAILED_MAX
#define RUN_NOT_FAILED ((enum vm_failure)(VM_FAILED_MAX + 1))

/* Waits until the store has taken the end, or had no room. No-op without a fiber,
 * which lets go of the jobs that it holds. Return: 0, or negative errno: it is tried
 * again. */
int run_wait_end(struct run *run);
void run_end_done(struct run *run);

/* run_stop.c: if the appliance failed the run, may the job have another one? */
bool run_may_again(const struct run *run, enum job_status status);
/* That one begins, unless the run was cancelled meanwhile.
 * In a fiber that holds the job and the run. Return: true if so; then the run is
 * nobody's any more. */
bool run_again(struct run *run, enum job_status status, const char *message);

/* run.c: the host of a run with that config; NULL: of one that has none. */
const struct run_host *run_host_of(const struct fsd *d, const struct job_config *c);
/* run.c: number: of the run. Takes spec. NULL without memory. */
struct run *run_new(struct job *job, struct run_spec *spec, unsigned number);

/* run_adopt.c: it is about to be recorded as running. Another server may go on
 * with it, or tell that it has not begun. */
void run_replay_begin(struct run *run);
/* The sockets of a killed server's machine; the caller's, each -1 if it is gone. */
struct vm_sockets run_fetch_sockets(struct fsd *d, const struct vm_keys *keys);
/* What servers before that had it running have left; a fiber waits for the disk. */
int run_reset(struct run *run);
/* Its program has begun, or another run does. */
void run_forget_tries(struct job *job);
void run_replay_end(struct run *run);
/* run_events.c: it waits since then; it has its machine since then. */
void run_queued_since(struct run *run, uint64_t at_ns);
void run_granted_since(struct run *run, uint64_t at_ns);
/* run_events.c: its program has started, then. */
void run_started(struct run *run, uint64_t at_ns, uint64_t at_real_ns);
/* run_prepare.c: what the machine is told of limits. */
void run_fill_limits(struct run *run);

/* run_events.c: a machine is there. */
void run_begin(struct run *run, struct vm_lease *lease);
/* The same, for a run that was just accepted, and is on record as running. */
void run_go(struct run *run);
/* Its machine has gone before the program began: another one is sent the run. */
void run_unsend(struct run *run);
void run_fail(struct run *run, enum vm_failure why, const char *sentence);
/* Ends a run that had failed before it was accepted, with the same sentence as later. */
void run_fail_accepted(struct run *run);
/* start.c: has the state on record, with what belongs to it.
 * Return: 0 or negative errno. */
int run_record(struct run *run, enum job_state state);
/* The store has, or has not, a place for the results of a run of another server. */
void run_record_found(struct run *run, bool stored);
/* What the record says of a run that is new. */
void run_fill_accepted(const struct run *run, uint64_t queued_no,
		       struct job_meta *ret);
/* run.c: one of its fibers comes and goes. */
void run_hold(struct run *run);
void run_let_go(struct run *run); /* may free it */
/* run.c: gives up the machine, or the place in a session. */
void run_leave(struct run *run);
/* run_events.c: the program's figures, as its guest says. */
void run_fill_usage(const struct run *run, struct job_result *res);

void run_free(struct run *run);
/* run.c: it is nobody's any more; it goes when nobody is at it. */
void run_give_up(struct run *run);

#endif
