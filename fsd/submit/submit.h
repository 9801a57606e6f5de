/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When does a job start? Whenever an input changed for good (closed after
 * writing, renamed, removed), submit_evaluate() looks at the whole job: all
 * parts complete and right -> it is queued; complete and wrong -> refused,
 * with a sentence; else it stays a draft, and draft.h tells what it waits for.
 * Nothing else starts or refuses.
 */
#ifndef FSD_SUBMIT_H
#define FSD_SUBMIT_H

#include "fsd/jobs/job_watch.h"

struct run_spec;

/* submit_state.c: a job that goes gives its place in the queue back, and is no draft. */
extern const struct job_watcher submit_watcher;

/* config_closed: config.json itself was completed just now, which is what
 * runs a finished job again. With a large config this happens a little later:
 * it is parsed first, by the chores' thread. */
void submit_evaluate(struct job *job, bool config_closed);
/* One that a daemon before this one has refused: says why again. It is not
 * started, were it right by now: the call that was to start it has failed. */
void submit_refuse_again(struct job *job);
/* A job that a daemon before this one had accepted and not run: it asks for a
 * machine, or ends as "failed" if it cannot be run any more. True if that has to
 * wait; then leftover_go_on() is called behind it. */
bool submit_restart(struct job *job);
/* As submit_evaluate(), of a job for which submit_wait() is false: the fiber waits
 * until its files are loaded and its config is parsed. */
void submit_evaluate_now(struct job *job, bool config_closed);
/* Parses a large config.json ahead, if there is one to be parsed. */
void submit_prepare(struct job *job);
/*
 * False if nothing of the above is under way; else w->done(w) is called after
 * it, on the loop. The job may be removed by then.
 */
struct submit_wait {
	struct list node;
	void (*done)(struct submit_wait *w);
};
bool submit_wait(struct job *job, struct submit_wait *w);
/* Is the job's state the last word? Not while it is going to be looked at. */
bool submit_is_decided(const struct job *job);
/* `ctl start`: with or without a config, "start": "manual" or not.
 * Return: 0 or negative errno with a sentence, which `error` has too. */
int submit_start(struct job *job, struct err *err);
/*
 * What closing this file now would be answered with, by its content: 0, -EINVAL
 * for a config.json that is wrong, -EFBIG for one or a program that is too
 * large. A text that merely ends too early is wrong if nobody will go on
 * writing it (last).
 */
int submit_precheck(struct job *job, struct node *node, bool last);
/*
 * What was written to its config.json is a whole text, or none that can become
 * one: if it is wrong, the job is refused. In a fiber that holds the job.
 * Return: 0, -EINVAL or -EFBIG with a sentence.
 */
int submit_judge(struct job *job, struct node *node, struct err *err);
/*
 * The last writer of node is about to be told that its close has succeeded: if
 * the job starts with that, to promise has it on record (durability.md). The
 * start itself comes with the release of the file, for which nobody waits. In a
 * fiber that holds the job.
 * Return: 0: no; submit_would_start(): 1: it does; negative errno: nobody can
 * tell, it cannot be stored, there is no place in the queue (-EAGAIN), or no new
 * job starts (-ESHUTDOWN): then the job is refused, and the release is not to
 * start it.
 */
int submit_would_start(struct job *job, struct node *node);
/* by: the open file of that close, as 1 + fh. */
int submit_accept(struct job *job, uint64_t by);
/* It has a place in the queue from now on, full or not. The second: that is
 * another's, unless a close was promised that it starts. */
void submit_keep_place(struct job *job);
void submit_give_place(struct job *job);
/*
 * Return: the answer of a call that was to start the job, after submit_evaluate().
 * It is 0 if the job has started, or is refused for its contents; a negative errno
 * if the job could not be read or stored, or has no place now.
 */
int submit_answer(const struct job *job);
/* After that release: if the job has not started, nothing is promised. */
void submit_after_release(struct job *job);
/*
 * Before a rename that would start the job, its own from a name that begins
 * with ".", or node's to its config.json: -EAGAIN with a sentence if the queue
 * is full, -ESHUTDOWN if no new job starts. Then nothing is to be renamed. Else
 * a place may be kept, so that submit_give_place() comes after the rename.
 */
int submit_precheck_submit(struct job *job, const char *to, struct err *err);
int submit_precheck_config(struct job *job, struct node *node,
			   struct err *err);
/* True if parsed_config_prefetch() should come first, so as not to hold up others. */
bool submit_precheck_is_slow(struct job *job, struct node *node);

#endif
