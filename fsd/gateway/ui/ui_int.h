/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the dashboard share this: a look at the mount, and runs that ended. */
#ifndef GATEWAY_UI_INT_H
#define GATEWAY_UI_INT_H

#include "fsd/gateway/jobs/sandbox.h"
#include "layout/limits.h"
#include "ui.h"

#define UI_JOBS 2000u  /* jobs that are looked at */
#define UI_RUNS 200u   /* runs that are shown */
#define UI_KEPT 4096u  /* of the gateway's own, for the figures of an hour */
#define UI_HOUR_MS INT64_C(3600000)

struct ui_run {
	char name[LIMIT_JOB_NAME + 1];
	char owner[KEY_OWNER];
	char language[16], status[16];
	int64_t ended_ms; /* since 1970; 0: unknown */
	int64_t run_ms, queued_ms;
	int exit_code;
};

/* result.json to a run. Pure. */
void ui_run_read(struct ui_run *run, const json_t *result);

/* --- ui_runs.c: the gateway's own runs, whose jobs are gone; the loop's ----------- */

struct ui_ring {
	struct ui_run *run; /* owned; UI_KEPT of them */
	size_t next, count;
	struct ui_seen {
		char name[LIMIT_JOB_NAME + 1];
		char owner[KEY_OWNER];
		json_t *json; /* owned; what is shown of that job */
	} seen[UI_RUNS]; /* of the newest, a ring as well */
	size_t seen_next;
};

void ui_ring_done(struct ui_ring *ring);
/* Keeps what is shown of a job of the ring (taken); it replaces the oldest. */
void ui_ring_see(struct ui_ring *ring, const char *job, json_t *json);
/* Borrowed; NULL: it is not there, or another owner's. */
const json_t *ui_ring_seen(const struct ui_ring *ring, const char *job,
			   const char *owner);
/* Is it among the last few? */
bool ui_ring_has(const struct ui_ring *ring, const char *job);
/* "runs" and "figures" of one owner, into view: of the ring and of others. */
void ui_runs_show(const struct ui_ring *ring, const struct ui_run *other,
		  size_t others, const char *owner, int64_t now_ms,
		  json_t *view);

/* --- ui_jobs.c: jobs of the mount; a worker's ----------------------------------------- */

/* One job, as it was when its file `state` last changed. */
struct ui_job {
	struct ui_run run; /* its name; the rest when it is done */
	uint64_t inode;
	struct timespec changed;
	char state[12];
	char sandbox[LIMIT_JOB_NAME + 1]; /* "": none */
};

struct ui_jobs {
	struct ui_job *job; /* owned; by name */
	size_t count, more; /* more: those that were not looked at */
};

/* Looks anew: what has not changed is not read again. Return: 0 or negative errno. */
int ui_jobs_look(struct gateway *g, struct ui_jobs *jobs, struct err *err);
void ui_jobs_done(struct ui_jobs *jobs);
/* Reads one job. Return: false: it has gone. */
bool ui_job_read(struct gateway *g, const char *name, struct ui_job *ret);
bool ui_job_is_over(const struct ui_job *job);
/* May it be the name of a job, or of a sandbox? */
bool ui_is_name(const char *name);
/* A sandbox's config.json, or NULL: it has gone. */
json_t *ui_sandbox_config(struct gateway *g, const char *name);
/* Its owner, "": it has none. */
const char *ui_config_owner(const json_t *config);
/* A job's owner: its sandbox's, or the one that its name has. "": none. */
void ui_job_owner(struct gateway *g, const struct ui_job *job,
		  char ret[KEY_OWNER]);
/* ".fsd/sandboxes/NAME/FILE" */
void ui_sandbox_path(struct buf *path, const char *name, const char *file);

/* --- ui_look.c: all that is shown of the mount; a worker's ------------------------------ */

struct ui_look {
	json_t *json;       /* owned; what has an owner names it */
	struct ui_run *run; /* owned; ended jobs that are still there */
	size_t runs;
};

/* jobs: of the look before. A thing that cannot be read is told in its place. */
void ui_look_at(struct gateway *g, struct ui_jobs *jobs, struct ui_look *ret);
void ui_look_done(struct ui_look *look);
/* A copy with what one owner may see. Pure. */
json_t *ui_look_show(const struct ui_look *look, const char *owner);
/* The figure of .fsd/stats with that name, 0 if it is not there. Pure. */
double ui_figure(const char *stats, const char *name);

/* --- ui_peek.c: one job, a worker's ------------------------------------------------------- */

#define UI_TAIL (16u << 10) /* bytes of each stream of a job that runs */

/* Adds the end of a job's file to an object, at most UI_TAIL bytes, and the size of the
 * whole as NAME_bytes. */
void ui_add_tail(json_t *to, struct gateway *g, const char *job,
		 const char *name, size_t most);

/* --- ui.c ------------------------------------------------------------------------------------ */

/* On the loop, behind a look: makes the reply, now or later, and frees arg. */
typedef void ui_then(struct request *r, void *arg, const struct ui_jobs *jobs);
/* The ring of the gateway's runs; the loop's. */
const struct ui_ring *ui_ring_of(const struct gateway *g);
/* On a worker; the last that a handler does. then is called behind a look that begins from
 * now on. It takes arg; free() does if the client goes before. arg NULL: there was no memory,
 * and the reply says so. */
void ui_behind_look(struct request *r, ui_then *then, void *arg);

/* --- ui_page.c, made by the build of ui/ --------------------------------------------------- */

extern const char ui_page[], ui_policy[];
extern const size_t ui_page_len;

#endif
