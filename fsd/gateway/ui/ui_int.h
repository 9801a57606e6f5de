/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the dashboard: views of the mount, and ended runs. */
#ifndef GATEWAY_UI_INT_H
#define GATEWAY_UI_INT_H

#include "fsd/gateway/jobs/sandbox.h"
#include "layout/limits.h"
#include "ui.h"

#define UI_JOBS 2000u /* most jobs that are read */
#define UI_RUNS 200u /* most runs that are shown */
/* most of the gateway's own runs that it keeps, for the figures of the last hour */
#define UI_KEPT 4096u
#define UI_HOUR_MS INT64_C(3600000)

struct ui_run {
	char name[LIMIT_JOB_NAME + 1];
	char owner[KEY_OWNER];
	char language[16], status[16];
	int64_t ended_ms; /* since 1970; 0: unknown */
	int64_t run_ms, queued_ms;
	int exit_code;
};

/* Reads a run from result.json. Pure. */
void ui_run_read(struct ui_run *run, const json_t *result);

/* --- ui_runs.c: the gateway's own runs, whose jobs are removed; on the loop --- */

struct ui_ring {
	struct ui_run *run; /* owned; UI_KEPT of them */
	size_t next, count;
	struct ui_seen {
		char name[LIMIT_JOB_NAME + 1];
		char owner[KEY_OWNER];
		json_t *json; /* owned; what is shown of the job */
	} seen[UI_RUNS]; /* a ring, too: the newest ones */
	size_t seen_next;
};

void ui_ring_done(struct ui_ring *ring);
/* Stores what is shown of a job of the ring (takes it); replaces the oldest. */
void ui_ring_see(struct ui_ring *ring, const char *job, json_t *json);
/* Returns what is shown of the job, borrowed; NULL: it is not there, or another
 * owner's. */
const json_t *ui_ring_seen(const struct ui_ring *ring, const char *job,
			   const char *owner);
/* Returns whether the ring has the job among its 64 newest runs. */
bool ui_ring_has(const struct ui_ring *ring, const char *job);
/* Puts "runs" and "figures" of one owner into view: from the ring, and from the
 * array `other`. */
void ui_runs_show(const struct ui_ring *ring, const struct ui_run *other,
		  size_t others, const char *owner, int64_t now_ms,
		  json_t *view);

/* --- ui_jobs.c: jobs of the mount; on workers --------------------------- */

/* A job, as it was when its file `state` last changed. */
struct ui_job {
	/* name, owner and language; the other fields only when the job is over */
	struct ui_run run;
	uint64_t inode;
	struct timespec changed;
	char state[12];
	char sandbox[LIMIT_JOB_NAME + 1]; /* "": the job runs in no sandbox */
};

struct ui_jobs {
	struct ui_job *job; /* owned; by name */
	size_t count, more; /* more: number of jobs beyond UI_JOBS, which are not shown */
};

/*
 * Brings *jobs up to date: reads the jobs that have changed since the last call.
 * Return: 0 or negative errno.
 */
int ui_jobs_look(struct gateway *g, struct ui_jobs *jobs, struct err *err);
void ui_jobs_done(struct ui_jobs *jobs);
/* Reads one job. Return: false: the job is gone. */
bool ui_job_read(struct gateway *g, const char *name, struct ui_job *ret);
bool ui_job_is_over(const struct ui_job *job);
/* Returns whether the text may be the name of a job, or of a sandbox. */
bool ui_is_name(const char *name);
/* Returns a sandbox's config.json; NULL: the sandbox is gone, or another user's. */
json_t *ui_sandbox_config(struct gateway *g, const char *name);
/* Returns the owner in a sandbox's config; "": none. */
const char *ui_config_owner(const json_t *config);
/* Returns a job's owner: its sandbox's, or the one in its name. "": none. */
void ui_job_owner(struct gateway *g, const struct ui_job *job,
		  char ret[KEY_OWNER]);
/* Makes ".fsd/sandboxes/NAME/FILE". */
void ui_sandbox_path(struct buf *path, const char *name, const char *file);

/* --- ui_look.c: the whole view of the mount; on workers ----------------- */

struct ui_look {
	json_t *json; /* owned; parts with an owner name it */
	struct ui_run *run; /* owned; ended jobs that still exist */
	size_t runs;
};

/* Reads the mount. Brings *jobs, which the last call has filled, up to date. If jobs
 * or sandboxes cannot be read, "problem" of ret->json has the error. */
void ui_look_at(struct gateway *g, struct ui_jobs *jobs, struct ui_look *ret);
void ui_look_done(struct ui_look *look);
/* Returns a copy with the parts that one owner may see. Pure. */
json_t *ui_look_show(const struct ui_look *look, const char *owner);
/* Returns a figure of .fsd/stats; 0 if it is missing. Pure. */
double ui_figure(const char *stats, const char *name);

/* --- ui_peek.c: one job; on workers ------------------------------------- */

#define UI_TAIL (16u << 10) /* bytes of each stream of a running job */

/* Adds the end of a job's file to an object, and the file's size as NAME_bytes.
 * most: bytes of the file; UI_TAIL at most. */
void ui_add_tail(json_t *to, struct gateway *g, const char *job,
		 const char *name, size_t most);

/* --- ui.c
 * ------------------------------------------------------------------------------------ */

/* Makes the reply, now or later; on the loop, after a worker has read the mount. Frees
 * arg. */
typedef void ui_then(struct request *r, void *arg, const struct ui_jobs *jobs);
/* Returns the ring of the gateway's runs; on the loop. */
const struct ui_ring *ui_ring_of(const struct gateway *g);
/*
 * Calls `then` after a reading of the mount that begins after this call. On a worker,
 * the last action of a handler. Takes arg, and frees it if the client goes before.
 * arg NULL: the caller had no memory, and the reply says so.
 */
void ui_behind_look(struct request *r, ui_then *then, void *arg);

/* --- ui_page.c, made by the build of ui/
 * --------------------------------------------------- */

extern const char ui_page[], ui_policy[];
extern const size_t ui_page_len;

#endif
