/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_own_host: the host (run_host.h) of runs that have a machine of their own. The run
 * waits for a build of its environment, then for the scheduler, lists its inputs, and asks
 * the pool for a machine. The machine ends with the run. If the server ends first, the
 * next one adopts the machine by the run's replay buffer. All functions run on the loop or
 * in a fiber; none waits.
 */
#include <errno.h>

#include "fsd/jobs/environments.h"
#include "run_int.h"
#include "run_network.h"

/* --- a build ---------------------------------------------------------------- */

static void on_build_tell(struct build_wait *w, const char *sentence)
{
	job_log(container_of(w, struct run, queue.build)->job, "%s", sentence);
}

/* Queues the run after a build, or ends it if that has failed. It asks for no second
 * build, even if the environment that was built does not fit. */
static void on_built(struct build_wait *w, const char *why)
{
	struct run *run = container_of(w, struct run, queue.build);

	if (!why) {
		run->queue.built = true;
		run_queue(run);
		return;
	}
	run->final = true;
	run_no_machine(run, why);
}

static const struct build_wait_ops asks = {
	.tell = on_build_tell,
	.done = on_built,
};

/* Begins to wait for a build, if the config needs one; on_built() follows. Return: 1: the
 * run waits; 0: no build is needed; negative errno with a sentence: the build failed. */
static int await_build(struct run *run, struct err *err)
{
	const struct job_config *c = run->spec.config;
	int r;

	if (!run->d->builds || run->queue.built)
		return 0;
	run->queue.build.ops = &asks;
	r = builds_take(run->d->builds, run->job->meta.uid, c, &run->queue.build, err);
	run->final = r == -EINVAL;
	if (r > 0)
		builds_tell(run->d->builds, &run->queue.build);
	return r;
}

/* --- its turn --------------------------------------------------------------- */

static void on_ready(struct sched_slot *slot)
{
	run_make_ready(container_of(slot, struct run, slot));
}

static void on_tell(struct sched_slot *slot, const char *sentence)
{
	job_log(container_of(slot, struct run, slot)->job, "%s", sentence);
}

static const struct sched_slot_ops slot_ops = {
	.ready = on_ready,
	.tell = on_tell,
};

static int ask(struct run *run, struct err *err)
{
	const struct job_config *c = run->spec.config;
	int r = await_build(run, err);

	if (r)
		return MIN(r, 0);
	run->slot = (struct sched_slot){
		.ops = &slot_ops, .uid = run->job->meta.uid,
		.priority = c->priority,
		.memory = MIB(c->memory_mb), .cpus = (unsigned)c->cpus,
		.old = run_queued_before(run),
	};
	r = sched_enter(run->d->sched, &run->slot);
	if (r < 0)
		return err_sys(err, r, "the job cannot be queued");
	return r ? run_get_ready(run, err) : 0;
}

static void tell(struct run *run)
{
	sched_tell(&run->slot);
}

/* --- its machine ------------------------------------------------------------ */

static int environment(struct run *run, struct environment **ret, struct err *err)
{
	return environments_open(run->d, run->job->meta.uid, run->spec.config, ret, err);
}

static const struct job_config *shared(const struct run *run)
{
	(void)run;
	return NULL;
}

/* If the run waits for the first machine of its template, logs this: making the template
 * takes about half a minute. */
static void tell_if_first(struct run *run)
{
	uint32_t mib, cpus;
	char making[256];

	if (!vm_lease_is_first(run->lease, &mib, &cpus))
		return;
	run_begin_making(run);
	vm_making(run->lease, making, sizeof(making));
	if (run->environment.of) {
		run_tell_making(run, making);
		return;
	}
	job_log(run->job, "waits for the template of machines for up to %u MiB "
		"(memory_mb) and %u processor%s, which is made once: %s", mib,
		cpus, cpus == 1 ? "" : "s", making);
}

static int lease(struct run *run, struct err *err)
{
	struct vm_need need = {
		.runner = run->vm_job.wire.runner,
		.memory_bytes = run_memory_need(run),
		.cpus = run->vm_job.wire.cpus,
		.environment = run->environment.of,
	};

	run->lease = vm_lease(run->d->vm, &need, &run_events, run);
	if (!run->lease)
		return err_sys(err, -ENOMEM, "no machine can be asked for");
	tell_if_first(run);
	return 0;
}

static void leave(struct run *run)
{
	if (run->lease)
		vm_end(take_ptr(run->lease));
	run_network_leave(run);
}

static bool put_off(struct run *run, const char *sentence)
{
	(void)run;
	(void)sentence;
	return false;
}

static bool retry(struct run *run)
{
	(void)run;
	return false;
}

/* --- for the next server ---------------------------------------------------- */

static bool outlives(const struct run *run)
{
	return !run->vm_job.stdin_open; /* the pipe of open standard input ends with us */
}

static void sign(const struct run *run, struct vm_replay *t)
{
	t->memory = run->slot.memory;
	t->places = run->slot.cpus;
}

static int adopt(struct run *run, struct vm_replay *t)
{
	struct fsd *d = run->d;
	struct vm_sockets sockets = { -1, -1, -1, -1 };

	run_fill_limits(run);
	run_take_inputs(run, false);
	run->vm_job.stdin_size = t->stdin_size;
	run->vm_job.replay = t;
	run->slot = (struct sched_slot){
		.uid = run->job->meta.uid, .memory = t->memory,
		.cpus = t->places,
	};
	if (t->sent)
		sockets = run_fetch_sockets(d, &t->reach.keys);
	run->lease = vm_adopt(d->vm, &sockets, &run->vm_job, &run_events, run);
	return run->lease ? sched_adopt(d->sched, &run->slot) : -ESRCH;
}

const struct run_host run_own_host = {
	.ask = ask,
	.tell = tell,
	.environment = environment,
	.shared = shared,
	.lease = lease,
	.leave = leave,
	.put_off = put_off,
	.retry = retry,
	.outlives = outlives,
	.sign = sign,
	.adopt = adopt,
};
