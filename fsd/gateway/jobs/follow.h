/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job of the gateway, from its start to its removal. Its events come to the
 * loop; its result is read on a worker.
 */
#ifndef GATEWAY_FOLLOW_H
#define GATEWAY_FOLLOW_H

#include "fsd/gateway/gateway.h"

struct follow;

struct follow_ops {
	/* On the loop: a line of `events`. name: its member "event". May be
	 * NULL. */
	void (*event)(void *arg, const char *name, json_t *event);
	/* On a worker: result.json, NULL if it cannot be read. The job still
	 * exists. May be NULL. */
	void (*result)(void *arg, json_t *result);
	/* On the loop, last. error: 0, or a negative errno: the job was lost. */
	void (*over)(void *arg, int error);
};

struct follow_job {
	const char *name;
	/* the job's config.json, with "code" or "command"; follow adds a mark to "note" */
	json_t *config;
	const char *dir; /* an empty directory to make in the job before it starts, or NULL */
	json_t *files; /* further files: text by path, or NULL */
	/* owner of the API key (keys.h), for the dashboard; NULL: none */
	const char *owner;
	bool hold; /* the job ends with the gateway */
	bool keep; /* keep the job after its end */
	bool stays; /* the job continues if its gateway dies */
	/* abandon the job this long after its start; 0: never */
	uint64_t patience_ms;
	const struct follow_ops *ops;
	/* On the loop: a line of `events` before it is parsed. Return: false:
	 * pass it to event(). May be NULL. */
	bool (*line)(void *arg, const char *line, size_t len);
	void *arg;
};

/*
 * Makes the job and starts to follow it. On a worker; ops may be called before
 * it returns, so it is the last action of a handler; *ret is set before.
 * Return: 0 or negative errno with a sentence; then there is no job.
 */
int follow_start(struct gateway *g, const struct follow_job *job,
		 struct follow **ret, struct err *err);
/*
 * Only makes the job, for a caller that waits for its end. The caller owns
 * *ret_events, which has the lock, and *ret_hold (-1: job->hold is not set).
 * Return: as above.
 */
int follow_make(struct gateway *g, const struct follow_job *job, int *ret_events,
		int *ret_hold, struct err *err);
/* Follows an existing job, from the position of fd in its events. Takes fd,
 * which was opened with O_NONBLOCK. */
int follow_join(struct gateway *g, const struct follow_job *job, int fd,
		struct follow **ret, struct err *err);

/* --- on the loop, until over() -------------------------------------------------- */

/* Writes a verb to ctl. */
void follow_ctl(struct follow *f, const char *verb);
/*
 * The client is gone: writes `interrupt`, and after patience_ms `kill`; 0: at
 * once. A waiting step of a session is interrupted when it begins; any other
 * waiting job is killed.
 */
void follow_abandon(struct follow *f, uint64_t patience_ms);
/* Stops following a job that continues: over() comes without result(). */
void follow_leave(struct follow *f);
/* Reports how many bytes of the job's output wait for a client. With too many, no more
 * events are read (watcher.h). */
void follow_waiting(struct follow *f, size_t bytes);

/* --- for orphans.c ------------------------------------------------------------------ */

#define FOLLOW_NAME 64u    /* bytes of a job's name */
#define FOLLOW_TAIL 16u    /* random letters at the end of a job's name */
/* key in the "note" of a job's config.json; its values: */
#define FOLLOW_MARK "fsd-gateway"
#define FOLLOW_STAYS "stays" /* the job continues without its gateway */
#define FOLLOW_GOES "goes" /* the job ends with its gateway */

/* Locks a job's events. Return: a descriptor, or negative errno; -EWOULDBLOCK:
 * another gateway has the lock. */
int follow_events(const struct mount *own, struct err *err);

/* Ends the jobs of this user's dead gateways, except those that stay. Ignores
 * jobs without the mark of follow_start(). Call it at the start. */
void follow_orphans(struct gateway *g);

/* Makes the name of a new job, "gw.PART.RANDOM" with FOLLOW_TAIL of [a-z0-9]. part: the
 * sandbox's name, or the owner of a job without sandbox; "" or NULL: "gw.RANDOM". */
int follow_new_name(const char *part, char room[64]);

#endif
