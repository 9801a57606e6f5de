/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's life as one pure table: state x event -> state.
 *
 *              COMMIT            GRANT             END
 *   draft ----------> queued ----------> running ------> done
 *     ^ |  REFUSE        |  FAIL            |  FAIL        |
 *     | v                +------> done <----+              |
 *   refused --COMMIT--> queued <------------COMMIT---------+
 *
 * AGAIN takes queued and running to queued: an attempt failed, and the job may
 * have another one.
 *
 * REOPEN (an input was written or removed) takes refused back to draft and
 * leaves draft and done as they are. REFUSE is possible in done too: the old
 * results stay in the store but are no longer shown, so that nobody takes them
 * for those of the run that was refused.
 */
#ifndef LAYOUT_STATE_H
#define LAYOUT_STATE_H

enum job_state {
	JOB_DRAFT,
	JOB_QUEUED,
	JOB_RUNNING,
	JOB_DONE,
	JOB_REFUSED,
	JOB_STATE_MAX
};

enum job_event {
	EV_SUBMIT, /* config and code are complete and good: run it */
	EV_REFUSE, /* they are complete and wrong */
	EV_REOPEN, /* an input changed: no longer refused, or done */
	EV_GRANT,  /* a machine was leased */
	EV_END,    /* the program has ended and its results are kept */
	EV_FAIL,   /* the appliance failed, or the job was cancelled */
	EV_AGAIN,  /* the appliance failed, and "retry" allows one more run */
	JOB_EVENT_MAX
};

#define JOB_BAD JOB_STATE_MAX /* this event is not possible in this state */

enum job_state state_next(enum job_state state, enum job_event event);
const char *state_name(enum job_state state);
/* -1 for a name that is no state's. */
int state_parse(const char *name);
const char *event_name(enum job_event event);

/* How a run ended: the word in result.json and what exit_code says then. */
enum job_status {
	STATUS_EXITED,
	STATUS_SIGNALED,
	STATUS_TIMEOUT,
	STATUS_OUT_OF_MEMORY,
	STATUS_CANCELLED,
	STATUS_FAILED,
	STATUS_INTERRUPTED,
	JOB_STATUS_MAX
};

const char *status_name(enum job_status status);
/* The exit_code of contract section 5. value: the program's own code for
 * EXITED, the signal's number for SIGNALED, ignored otherwise. */
unsigned status_exit_code(enum job_status status, unsigned value);

/* "SIGSEGV"; "SIGRTMIN+3"; NULL if there is no such signal (1..64). */
const char *signal_name(unsigned number, char room[16]);
/* "SIGTERM", "TERM", "15" -> 15; -EINVAL. Case-sensitive. */
int signal_parse(const char *name);

#endif
