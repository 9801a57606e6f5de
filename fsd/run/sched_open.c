/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the scheduler for this server: it gives the scheduler functions for memory,
 * health and the disk, and computes the default reserve.
 *
 * The scheduler knows neither jobs nor machines; this file connects the three. All
 * functions run on the loop.
 */
#include "sched_open.h"

#include <errno.h>

#include "fsd/jobs/job.h"
#include "disk_space.h"
#include "runs_int.h"
#include "fsd/users/users.h"

#define RESERVE_MIN MIB(128)
#define RESERVE_MAX GIB(1)
#define RESERVE_SHARE 16 /* the reserve is this part of the host's memory */

static void on_memory(void *arg, struct vm_memory *ret)
{
	struct fsd *d = arg;

	vm_memory(d->vm, ret);
}

static void on_give_way(void *arg)
{
	struct fsd *d = arg;

	vm_give_way(d->vm);
}

static const char *on_sick(void *arg, bool *ret_hopeless)
{
	struct fsd *d = arg;
	struct err *err = &d->runs->sick;

	if (ret_hopeless)
		*ret_hopeless = vm_has_no_template(d->vm);
	if (!vm_is_failing(d->vm))
		return NULL;
	vm_health(d->vm, err);
	return err->text;
}

static const char *on_barred(void *arg)
{
	return disk_space_problem(arg);
}

void sched_on_freed(void *arg)
{
	struct fsd *d = arg;

	if (d->sched)
		sched_kick(d->sched);
}

bool sched_on_may_warm(void *arg)
{
	struct fsd *d = arg;

	return !d->sched || sched_has_spare(d->sched);
}

int sched_open(struct fsd *d, const struct sched_limits *asked,
	       sched_take_back *take_back)
{
	const struct sched_host host = {
		.memory = on_memory,
		.give_way = on_give_way,
		.sick = on_sick,
		.barred = on_barred,
		.take_back = take_back,
		.now = now_ns,
		.arg = d,
	};
	struct sched_limits limits = *asked;
	struct vm_memory memory;

	vm_memory(d->vm, &memory);
	if (limits.reserve == UINT64_MAX)
		limits.reserve =
			MIN(MAX(memory.total / RESERVE_SHARE, RESERVE_MIN),
			    RESERVE_MAX);
	return sched_new(d->loop, &limits, &host, users_quota(d->users),
			 &d->sched);
}

bool sched_was_accepted(const struct job *job)
{
	return job->meta.state == JOB_QUEUED || job->accept.promised ||
	       job->submit.place.sched;
}

int sched_check_job(struct job *job, const struct job_config *config,
		    struct err *err)
{
	return sched_check(job->d->sched, job->meta.uid, MIB(config->memory_mb),
			   sched_was_accepted(job), err);
}

bool sched_is_full(struct fsd *d, uid_t uid, struct err *err)
{
	return sched_check(d->sched, uid, 0, false, err) == -EAGAIN;
}
