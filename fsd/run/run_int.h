/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct run and the functions that the files of fsd/run share with each other, and with
 * fsd/living, which is the host of some runs. Each group of fields has one file that
 * writes it.
 *
 * Context: on the loop or in a fiber. No call waits, unless its comment says so.
 */
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

/* The message of a run whose end is not known. A new server gives it to a run that the
 * record calls running. A server whose disk became read-only gives it too: the record
 * stays "running", so the next server would say the same. A job gets one end only. */
#define RUN_NO_END "fsd or its host ended while the program ran, or the disk " \
		   "did not take its end"

/* The result of a run, until it is in the store. */
struct run_end {
	struct job_meta meta; /* the record to be written; its name is borrowed */
	struct job_result res;
	char id[STORE_ID_SIZE];
	char *name;        /* owned: the job's name when the run ended */
	char message[1100];
	struct result_attempt *attempts; /* owned; NULL: this is the first */
	char *attempts_text; /* owned: the messages of attempts */
	uint64_t stored;   /* bytes of result.json on the disk */
	uint64_t ended_ns; /* CLOCK_REALTIME, when the server learned of the end */
	bool cuts_said;    /* run_say_cuts() was called */
	int result;        /* result of the last attempt to store it: 0 or negative
			    * errno */
};

/* The state of the run's record in the store. start.c alone writes it. */
struct run_record {
	bool stored;    /* the run's directory rN/ exists */
	bool writes;    /* a thread is writing the record `running` at this moment */
	bool reset;     /* run_reset() has emptied rN/, except for the file `order`, so
			 * rN/ needs not be made again */
	uint64_t at_ns; /* CLOCK_REALTIME of the last record that was written */
};

/* When the run reached each point, in now_ns(); 0: not reached. run_events.c alone writes
 * it. */
struct run_times {
	uint64_t queued_ns, granted_ns, started_ns, exited_ns;
	uint64_t started_real_ns; /* started_ns as CLOCK_REALTIME */
};

/* The machine of the run, for its result. run_events.c alone writes it. */
struct run_machine {
	const char *source, *accel; /* borrowed constants */
	char template_id[32];
	struct run_network *network; /* owned, run_network.c writes it; NULL: none */
};

/* The progress of the end. The thread that stores an end saves and restores struct
 * run_end as a whole; these fields must not be restored. run_result.c writes them;
 * run_say_cuts() adds lines. */
struct run_ending {
	enum run_end_step step; /* run_end_enter() alone writes it */
	struct fiber *waiter;   /* the fiber in run_wait_end(), or NULL */
	struct job_lines lines; /* log lines and events that are stored with the end */
	bool said;              /* the log has its last lines */
};

/* The run's place in a session or a sandbox. fsd/living alone writes it. */
struct run_living {
	struct seat *seat; /* borrowed: where the run waits or runs, or NULL */
	struct list in_session, in_sandbox;
	uint64_t step;     /* number of the session's step, from 1; 0: not begun */
};

struct run {
	struct job *job;    /* borrowed: the owner; NULL: removed while `busy` was not 0 */
	struct fsd *d;
	unsigned number;
	struct run_spec spec;
	struct vm_lease *lease; /* of its machine, or NULL; the host ends it: run_leave() */
	const struct run_host *host; /* borrowed */
	struct run_living living;
	struct run_queue queue;
	struct vm_job vm_job;
	struct run_inputs inputs;
	struct run_environment environment;
	struct arena texts;       /* paths of inputs and of files */
	struct run_feed feed;
	struct wire_strings argv, envp; /* owned arrays of owned strings */

	struct run_stream stream[VM_STREAM_MAX]; /* VM_RESULT: lines shown by a cell */
	struct output_queue output_queue;
	struct run_value value;

	unsigned busy;   /* references by fibers; if the job is gone, the last one frees
			    the run */
	enum run_phase phase;     /* run_enter() alone writes it */
	struct run_counts counts; /* the run's share in the counts of all runs */
	struct run_record record;
	enum vm_failure why; /* why the run failed before it was accepted; end.message has
			      * the sentence. RUN_NOT_FAILED: it did not */
	bool timed_out, cancelled;
	bool final;      /* a retry would fail in the same way */
	struct run_ending ending;
	struct run_end end;
	bool adopted;    /* an earlier server began it */
	struct sched_slot slot;
	struct wire_exit exit;
	struct loop_timer timer; /* fires for the timeout, then for "grace", then for the
				  * next attempt to store the end */
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

/* True if RUN was sent to its machine. */
static inline bool run_is_sent(const struct run *run)
{
	return run_facts(run->phase)->sent;
}

/* True if the machine has reported that the program began. */
static inline bool run_has_started(const struct run *run)
{
	return run->times.started_ns;
}

/* True if the program has ended: run->exit is valid. */
static inline bool run_has_exit(const struct run *run)
{
	return run->phase == RUN_ENDED || run->phase == RUN_COMPLETE;
}

/* True if the run's end is decided: run_finish() was called. */
static inline bool run_is_ending(const struct run *run)
{
	return run->ending.step != RUN_END_OPEN;
}

/*
 * run_prepare.c: fills vm_job from the config and the environment. run_collect() adds the
 * inputs. Return: 0 or negative errno with a sentence.
 */
int run_prepare(struct run *run, struct err *err);
/* Frees all that run_prepare() and run_collect() have made. */
void run_unprepare(struct run *run);
/* Return: the program's path in the machine, below the home directory. Borrowed. */
const char *run_code_name(const struct run *run);
/* Remembers the run's environment for run_expect(): the user's next job likely has the
 * same. */
void run_note_environment(const struct run *run);

/*
 * run_result.c: ends a run whose end is not decided yet. Notes the outcome, frees the
 * machine, stores and publishes result.json on a thread, posts the last event, frees the
 * run. If the job has attempts left, run_again() begins the next run instead. Returns at
 * once; a new fiber does what waits. message: a sentence, or NULL.
 */
void run_finish(struct run *run, enum job_status status, const char *message);
/* More values of run->why. RUN_FAILED_UNASKED: the run failed before it asked for a
 * machine. */
#define RUN_FAILED_UNASKED VM_FAILED_MAX
#define RUN_NOT_FAILED ((enum vm_failure)(VM_FAILED_MAX + 1))

/* Waits until the end is stored, or until the attempt to store it has failed. Releases
 * all jobs that the fiber holds. Outside of a fiber it does nothing. Return: 0, or
 * negative errno: the run tries again. */
int run_wait_end(struct run *run);
void run_end_done(struct run *run);

/* run_stop.c: true if the job may have another run: fsd, its machine or its host has
 * failed this one, and attempts are left. */
bool run_may_again(const struct run *run, enum job_status status);
/* Begins that next run, and frees this one when its last fiber has left it. In a fiber
 * that holds the job and the run; it waits for the disk. Return: false: the run was
 * cancelled meanwhile, or there is no memory; the caller ends it. */
bool run_again(struct run *run, enum job_status status, const char *message);

/* run.c: returns the host of a run with this config. c may be NULL: the config is not
 * known. */
const struct run_host *run_host_of(const struct fsd *d, const struct job_config *c);
/* run.c: makes the run with this number. Takes spec, also on failure. Return: NULL
 * without memory. */
struct run *run_new(struct job *job, struct run_spec *spec, unsigned number);

/* run_adopt.c: gives the run a replay buffer, if its host lets it outlive this server.
 * Call it before the run is recorded as running. From the buffer the next server learns
 * whether the program has begun, and adopts the run. */
void run_replay_begin(struct run *run);
/* Fetches the sockets of a killed server's machine from the supervisor. They are the
 * caller's; a socket that is gone is -1. */
struct vm_sockets run_fetch_sockets(struct fsd *d, const struct vm_keys *keys);
/* Empties the run's directory, in which an earlier server may have left files of an
 * earlier try. In a fiber, which waits. Return: 0 or negative errno. */
int run_reset(struct run *run);
/* Resets the count of servers that have tried to begin the job's run: its program has
 * begun, or a new run begins. */
void run_forget_tries(struct job *job);
/* Frees the replay buffer: no server can adopt the run any more. */
void run_replay_end(struct run *run);
/* run_events.c: set when the run was queued, and when it got its machine. at_ns: a time of
 * now_ns(). */
void run_queued_since(struct run *run, uint64_t at_ns);
void run_granted_since(struct run *run, uint64_t at_ns);
/* run_events.c: notes when the program began, and arms the timeout. at_ns: now_ns();
 * at_real_ns: CLOCK_REALTIME. */
void run_started(struct run *run, uint64_t at_ns, uint64_t at_real_ns);
/* run_prepare.c: sets the limits in the message to the machine. */
void run_fill_limits(struct run *run);

/* run_events.c: the host has a machine for the run, which begins there as soon as it is
 * recorded as running. If the server ends, the run waits for the next server instead. */
void run_begin(struct run *run, struct vm_lease *lease);
/* Sends RUN to the machine. Call it when the run's record says "running". */
void run_go(struct run *run);
/* Takes the lease from a run whose machine or interpreter ended before the program began.
 * The host begins the run again. */
void run_unsend(struct run *run);
/* Ends the run because of a failure of its machine. Before the run is accepted it only
 * notes why. */
void run_fail(struct run *run, enum vm_failure why, const char *sentence);
/* Ends a run that had failed before it was accepted, for the reason that was noted. */
void run_fail_accepted(struct run *run);
/* start.c: writes the job's record with this state, and first everything that the record
 * depends on. The fiber waits. Return: 0 or negative errno. */
int run_record(struct run *run, enum job_state state);
/* For a run of an earlier server: sets whether its directory rN/ exists. */
void run_record_found(struct run *run, bool stored);
/* Fills the fields of the record that a newly accepted run sets. */
void run_fill_accepted(const struct run *run, uint64_t queued_no,
		       struct job_meta *ret);
/* run.c: a fiber takes, and gives back, a reference to the run. */
void run_hold(struct run *run);
void run_let_go(struct run *run); /* may free the run */
/* run.c: gives back the machine or the seat, and what the scheduler has reserved. */
void run_leave(struct run *run);
/* run_events.c: fills in the program's resource usage, as the guest reports it. */
void run_fill_usage(const struct run *run, struct job_result *res);

void run_free(struct run *run);
/* run.c: detaches the run from its job and frees it as soon as no fiber has a
 * reference. */
void run_give_up(struct run *run);

#endif
