/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of jobs that no run of this server has taken up yet: queued or refused
 * by a previous server, or queued once more after such a run failed. The lists are
 * data of this room; submit/restart.c gives the function that takes the jobs up.
 * Context: the loop or a fiber.
 */
#ifndef FSD_LEFTOVER_H
#define FSD_LEFTOVER_H

#include "job.h"
#include "fsd/base/sorted_ids.h"

/* leftover_enlist() adds a job to a list. Without memory the job waits for the next
 * start, and the log says so. leftover_list() adds it to the list of its state, queued or
 * refused, if it has one. */
void leftover_enlist(struct sorted_ids *list, const struct job_meta *m);
void leftover_list(struct fsd *d, const struct job_meta *m);
/* Call it before the first job. take_up() takes listed jobs up until now_ns() reaches
 * `until`. It returns true if there are more. */
void leftover_init(struct fsd *d, bool (*take_up)(struct fsd *d, uint64_t until));
/* Call it when all jobs that were found are listed: calls take_up() once. */
void leftover_begin(struct fsd *d, uint64_t until);
/* Begins the time slices that take the listed jobs up. */
void leftover_go_on(struct fsd *d);
/* Takes the next job off the lists, the queued ones first. Return: its number; 0: no job
 * is listed. */
uint64_t leftover_next(struct fsd *d);
/* leftover_found() marks a job of a previous server, if it is queued or refused, so that
 * take_up() handles it. leftover_done() removes the mark. */
void leftover_found(struct job *job);
void leftover_done(struct job *job);
/* Like leftover_found(), for a job that was just loaded: no user has asked for it yet. */
void leftover_loaded(struct job *job);
/* Call it when a user has asked for the job: its directory is in the kernel's cache
 * now. */
void leftover_seen(struct job *job);
/* Sets how many servers have tried to begin the job's newest run, and since when the job
 * waits (MONOTONIC; 0: unknown). */
void leftover_retry(struct job *job, unsigned tries, uint64_t queued_ns);
/* Call it when a new run was accepted: its wait begins now. */
void leftover_forget_wait(struct job *job);
/* Adds a job that was queued once more and has no run: it is taken up after the
 * others. */
void leftover_add(struct job *job);

#endif
