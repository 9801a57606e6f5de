/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job of the gateway's, from its start to its removal. Its events come to the loop,
 * its result is read on a worker.
 */
#ifndef GATEWAY_FOLLOW_H
#define GATEWAY_FOLLOW_H

#include "fsd/gateway/gateway.h"

struct follow;

struct follow_ops {
	/* On the loop: a line of `events`; name is its member event. NULL allowed. */
	void (*event)(void *arg, const char *name, json_t *event);
	/* On a worker: result.json, NULL if it cannot be read. The job is still
	 * there. NULL allowed. */
	void (*result)(void *arg, json_t *result);
	/* On the loop, last: 0, or a negative errno: the job was lost. */
	void (*over)(void *arg, int error);
};

struct follow_job {
	const char *name;
	json_t *config;  /* with "code" or "command"; "note" gets a mark */
	const char *dir; /* a directory that it has at its start, or NULL */
	json_t *files;   /* what it has beside the program: text by path, or NULL */
	const char *owner; /* for the dashboard; NULL: none */
	bool hold;       /* it goes with the gateway */
	bool keep;       /* it is not removed at its end */
	bool stays;      /* it goes on when its gateway has died */
	uint64_t patience_ms; /* it is abandoned from the start; 0: it is not */
	const struct follow_ops *ops;
	/* On the loop: a line of `events` before it is parsed. Return: false: it goes
	 * to event(). NULL allowed. */
	bool (*line)(void *arg, const char *line, size_t len);
	void *arg;
};

/*
 * On a worker: makes the job and begins to follow it. ops may be called before it
 * returns, so it is the last that a handler does; *ret is set before.
 * Return: 0 or negative errno with a sentence; then there is no job.
 */
int follow_start(struct gateway *g, const struct follow_job *job,
		 struct follow **ret, struct err *err);
/* Makes the job alone, for a caller that waits for its end. *ret_events and *ret_hold (-1:
 * job->hold is not set) are the caller's; *ret_events has the lock. Return: as above. */
int follow_make(struct gateway *g, const struct follow_job *job, int *ret_events,
		int *ret_hold, struct err *err);
/* Follows one that is there already, from where fd is in its events. Takes fd, which was
 * opened with O_NONBLOCK. */
int follow_join(struct gateway *g, const struct follow_job *job, int fd,
		struct follow **ret, struct err *err);

/* --- on the loop, until over() -------------------------------------------------- */

/* A verb of ctl. */
void follow_ctl(struct follow *f, const char *verb);
/* Its client has gone: `interrupt`, and after patience_ms `kill`; 0: at once. A step of
 * a session that waits is interrupted when it begins, any other job is killed. */
void follow_abandon(struct follow *f, uint64_t patience_ms);
/* Nothing more is wanted of it, and it goes on: over() comes without result(). */
void follow_leave(struct follow *f);
/* So many bytes of its output wait for a client. */
void follow_waiting(struct follow *f, size_t bytes);

/* --- for orphans.c ------------------------------------------------------------------ */

#define FOLLOW_NAME 64u    /* bytes of a job's name */
#define FOLLOW_TAIL 16u    /* letters at its end */
#define FOLLOW_MARK "fsd-gateway" /* in its "note": */
#define FOLLOW_STAYS "stays"      /* it goes on without its gateway, */
#define FOLLOW_GOES "goes"        /* or ends with it */

/* The lock on a job's events. Return: a descriptor, or negative errno; -EWOULDBLOCK: another
 * gateway has it. */
int follow_events(const struct mount *own, struct err *err);

/* Ends the jobs of this user's gateways that have died, but for those that stay. A job
 * without the mark of follow_start() is none of theirs. At the start. */
void follow_orphans(struct gateway *g);

/* "gw.PART.HEX" into room; part: the sandbox's name, or the owner of a run without one.
 * "gw.HEX" if it is "" or NULL. */
int follow_new_name(const char *part, char room[64]);

#endif
