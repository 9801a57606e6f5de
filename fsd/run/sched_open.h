/* SPDX-License-Identifier: Apache-2.0 */
/* Connects the scheduler with machines, jobs and the options. Context: the loop's thread,
 * in a fiber or not; no call waits. */
#ifndef FSD_SCHED_OPEN_H
#define FSD_SCHED_OPEN_H

#include "fsd/fsd.h"
#include "fsd/sched/sched.h"

struct job;

/* Opens the scheduler, once d->vm exists. take_back: sched_host.take_back. Return: 0 or
 * -ENOMEM. */
typedef bool sched_take_back(void *arg, uid_t uid, uint64_t idle_ns);
int sched_open(struct fsd *d, const struct sched_limits *asked,
	       sched_take_back *take_back);
/* Callbacks for struct vm_watch; arg: struct fsd. The first tells the scheduler that a
 * machine has ended. The second returns true if there is memory for an idle machine. */
void sched_on_freed(void *arg);
bool sched_on_may_warm(void *arg);

/* True if the job is accepted already: an earlier server has queued it, its close(2) was
 * answered, or it has a place in the queue. */
bool sched_was_accepted(const struct job *job);
/* Checks whether the job may be queued with this config. Return: as sched_check(). An
 * accepted job never gets -EAGAIN. */
int sched_check_job(struct job *job, const struct job_config *config,
		    struct err *err);
/* True if no further job of uid may be queued now; err gets the sentence. */
bool sched_is_full(struct fsd *d, uid_t uid, struct err *err);

#endif
