/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a job starts. After each completed change of an input (closed after
 * writing, renamed, removed) submit_evaluate() examines the whole job. A complete and
 * correct job is queued; a complete and wrong one is refused, with a sentence; any other
 * stays a draft, and draft.h tells its owner what is missing. No other room starts or
 * refuses jobs.
 *
 * A job is *accepted* when its record says `queued` and is synced. close(2) of the last
 * part accepts the job before it returns (submit_accept()); the release of that file,
 * which the kernel sends later, starts it. Context: the loop's thread. Functions that may
 * wait for the disk are called in a fiber that holds the job (its fiber lock).
 */
#ifndef FSD_SUBMIT_H
#define FSD_SUBMIT_H

#include "fsd/jobs/job_watch.h"

struct run_spec;

/* submit_state.c: a job that is removed gives up its place in the queue. */
extern const struct job_watcher submit_watcher;

/* Examines the job and acts on the verdict. config_closed: config.json was completed just
 * now; only that runs a finished job again. With a large config, or many files, it acts
 * later: a worker thread parses first; see submit_wait(). */
void submit_evaluate(struct job *job, bool config_closed);
/* Gives a job that an earlier server refused its sentence again. It never starts the job,
 * even if it is correct by now, because the call that should have started it failed. */
void submit_refuse_again(struct job *job);
/* Starts a job that an earlier server accepted and did not run; if it cannot be run any
 * more, it ends as "failed". Return: false: done; true: its files are loaded first, and
 * leftover_go_on() is called afterwards. */
bool submit_restart(struct job *job);
/* Like submit_evaluate(), but the calling fiber waits until the job's files are loaded and
 * its config is parsed. Only while submit_wait() returns false. */
void submit_evaluate_now(struct job *job, bool config_closed);
/* Starts parsing a large config.json, so that a later call need not wait. */
void submit_prepare(struct job *job);
/*
 * Return: false if no deferred call of the above is pending for the job; true: w->done(w)
 * is called on the loop when it has finished; the job may be removed by then. w is borrowed
 * until then.
 */
struct submit_wait {
	struct list node;
	void (*done)(struct submit_wait *w);
};
bool submit_wait(struct job *job, struct submit_wait *w);
/* Return: false while an evaluation of the job is deferred: its state may still change. */
bool submit_is_decided(const struct job *job);
/* Starts a job whose owner has written `start` to ctl. It needs no config.json, and
 * "start": "manual" does not hold it back. Return: 0 or negative errno with a sentence. */
int submit_start(struct job *job, struct err *err);
/*
 * Checks the content of a file that is being closed. Return: 0; -EINVAL: config.json is
 * wrong; -EFBIG: config.json or the program is too large. An incomplete config.json counts
 * as wrong only for its last writer (last).
 */
int submit_precheck(struct job *job, struct node *node, bool last);
/*
 * Call it when the bytes written to config.json are a complete text, or can no longer
 * become one: refuses the job if they are wrong. In a fiber that holds the job. Return: 0,
 * -EINVAL or -EFBIG; each error with a sentence.
 */
int submit_judge(struct job *job, struct node *node, struct err *err);
/*
 * Acceptance at close(2), before the reply to the last writer of node (durability.md).
 * submit_would_start() examines the job as if node were closed. Return: 1: it starts, so
 * call submit_accept(); 0: it does not; negative errno: it cannot be examined, the queue
 * is full (-EAGAIN), or no new job starts (-ESHUTDOWN). With an error the job is refused,
 * and the release must not start it. In a fiber that holds the job.
 */
int submit_would_start(struct job *job, struct node *node);
/* Syncs the inputs and writes the record as `queued`. by: the handle of that close, as
 * 1 + fh. In a fiber that holds the job. Return: 0; negative errno: the job cannot be
 * stored, and is refused. */
int submit_accept(struct job *job, uint64_t by);
/* submit_keep_place() keeps a place in the queue for the job, even if the queue is full.
 * submit_give_place() gives it back, unless the job was accepted at close(2) and has not
 * started yet. */
void submit_keep_place(struct job *job);
void submit_give_place(struct job *job);
/*
 * Return: the result of a call that should have started the job, after submit_evaluate():
 * 0 if the job has started, or was refused for its contents; a negative errno if it could
 * not be read or stored, or if the queue was full.
 */
int submit_answer(const struct job *job);
/* Call it after the release of a file whose close(2) has accepted the job: if the job has
 * not started, its acceptance is undone, and the record is written back. */
void submit_after_release(struct job *job);
/*
 * Check a rename before it is done: of the job, from a name that begins with ".", or of
 * node to the job's config.json. Return: 0; if the rename would start the job: -EAGAIN (the
 * queue is full), -ESHUTDOWN (no new job starts) or -EROFS, with a sentence; then the
 * caller must not rename. After 0 a place may be kept: call submit_give_place() after the
 * rename.
 */
int submit_precheck_submit(struct job *job, const char *to, struct err *err);
int submit_precheck_config(struct job *job, struct node *node,
			   struct err *err);
/* Return: true if submit_precheck() would parse a large config: call
 * parsed_config_prefetch() first, so that the loop is not blocked. */
bool submit_precheck_is_slow(struct job *job, struct node *node);

#endif
