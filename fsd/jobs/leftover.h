/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of jobs that no run of this server has taken up yet: queued or refused
 * by a previous server, or queued once more after such a run failed. The lists are
 * data of this room; submit/resume.c sets d->resume.work, which takes the jobs up.
 * Context: the loop or a fiber.
 */
#ifndef FSD_LEFTOVER_H
#define FSD_LEFTOVER_H

#include "job.h"

/* Adds a job to d->left_queued or d->left_refused. Without memory the job waits for
 * the next start, and the log says so. */
void leftover_enlist(struct order *list, const struct job_meta *m);
/* Begins the time slices that take the listed jobs up. */
void leftover_go_on(struct fsd *d);
/* Of a job that a previous server left: it is to be taken up if it is queued or
 * refused. The second: it was taken up. */
void leftover_found(struct job *job);
void leftover_done(struct job *job);
/* A user has asked for the job: its directory is in the kernel's cache now. */
void leftover_seen(struct job *job);
/* Servers that have tried to have its newest run begin, and since when the job waits
 * for that (MONOTONIC; 0: unknown). */
void leftover_retry(struct job *job, unsigned tries, uint64_t queued_ns);
/* A new run was accepted: its wait begins now. */
void leftover_forget_wait(struct job *job);
/* The job was queued once more and has no run: it is taken up after the others. */
void leftover_add(struct job *job);

#endif
