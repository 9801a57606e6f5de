/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's ties to this daemon: its machines, its options. */
#ifndef FSD_SCHED_OPEN_H
#define FSD_SCHED_OPEN_H

#include "fsd/fsd.h"
#include "fsd/sched/sched.h"

struct job;

/* take_back: see sched.h. After the machines' room. Return: 0 or -ENOMEM. */
typedef bool sched_take_back(void *arg, uid_t uid, uint64_t idle_ns);
int sched_open(struct fsd *d, const struct sched_limits *asked,
	       sched_take_back *take_back);
/* For vm_watch: a machine is gone; may one be made ahead? */
void sched_on_freed(void *arg);
bool sched_on_may_warm(void *arg);

/* By a daemon before this one, or by a close that was answered; or a place is
 * kept for it. */
bool sched_was_accepted(const struct job *job);
/* May job be queued with this config? See sched_check(); what was
 * accepted before, or has a place, is not too much. */
int sched_check_job(struct job *job, const struct job_config *config,
		    struct err *err);
/* Nothing more may be queued for uid: who would start one is to be told. */
bool sched_is_full(struct fsd *d, uid_t uid, struct err *err);

#endif
