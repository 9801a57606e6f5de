/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's life as one pure table: state x event -> state.
 *
 *              SUBMIT            GRANT             END
 *   draft ----------> queued ----------> running ------> done
 *     ^ |  REFUSE        |  FAIL            |  FAIL        |
 *     | v                +------> done <----+              |
 *   refused --SUBMIT--> queued <------------SUBMIT---------+
 *
 * AGAIN takes queued and running to queued: an attempt failed, and the job may
 * have another one.
 *
 * REOPEN (an input was written or removed) takes refused and done to draft.
 * REFUSE is possible in done, too: the old results stay in the store but are
 * not shown any more, so that a user does not take them for results of the
 * refused run.
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
	EV_SUBMIT, /* config and code are complete and valid: run the job */
	EV_REFUSE, /* all parts exist and the job is wrong */
	EV_REOPEN, /* an input changed: the job is no longer refused, or done */
	EV_GRANT,  /* a machine was leased */
	EV_END, /* the program has ended and its results are stored */
	EV_FAIL, /* fsd failed, or the job was cancelled */
	EV_AGAIN, /* fsd failed, and "retry" allows one more run */
	JOB_EVENT_MAX
};

#define JOB_BAD JOB_STATE_MAX /* this event is not possible in this state */

enum job_state state_next(enum job_state state, enum job_event event);
const char *state_name(enum job_state state);
/* Returns the state of a name; -1: there is none. */
int state_parse(const char *name);
const char *event_name(enum job_event event);

/* How a run ended: the word in result.json, and the value of exit_code. */
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
/* Returns the exit_code. value: the program's own code for EXITED, the signal's
 * number for SIGNALED, else ignored. */
unsigned status_exit_code(enum job_status status, unsigned value);

/* Returns "SIGSEGV", "SIGRTMIN+3"; NULL: there is no such signal (1..64). */
const char *signal_name(unsigned number, char room[16]);
/* Parses "SIGTERM", "TERM" or "15". Case-sensitive. Return: the number, or
 * -EINVAL. */
int signal_parse(const char *name);

#endif
