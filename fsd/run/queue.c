/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run waits: for its environment to be built, for its turn with the scheduler, for
 * its inputs to be listed, for a machine. Each step asks for the next one. A run in a
 * session or a sandbox waits for that (sandbox.c), and here for its inputs alone.
 */
#include <errno.h>
#include <string.h>

#include "run_int.h"

/* Inputs are collected for so long before it is the others' turn. */
#define COLLECT_NS (NS_PER_MS)

/* --- a build ---------------------------------------------------------------- */

static void on_build_tell(struct build_wait *w, const char *sentence)
{
	job_log(container_of(w, struct run, queue.build)->job, "%s", sentence);
}

/* What it asked for is not asked for twice, whatever was built. */
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

/* Has it to wait for a build? Then run_queue() follows, or its end. Return: 1, 0, or a
 * negative errno with a sentence: its environment could not be built. */
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

/* --- a machine -------------------------------------------------------------- */

/* Half a minute is long for who knows not why. */
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

	run_note_environment(run);
	if (run->seat) {
		sandbox_go(run);
		return 0;
	}
	run->lease = vm_lease(run->d->vm, &need, &run_events, run);
	if (!run->lease)
		return err_sys(err, -ENOMEM, "no machine can be asked for");
	tell_if_first(run);
	return 0;
}

/* It waits again, and holds nothing meanwhile. */
void run_forget_inputs(struct run *run)
{
	if (run->inputs.keeps)
		return; /* what has gone is nowhere else */
	run_unprepare(run);
	arena_done(&run->texts);
}

/* --- inputs ----------------------------------------------------------------- */

/* Its inputs are known, and with them what its machine may come to. */
static int settle(struct run *run, struct err *err)
{
	int r = sched_grow(&run->slot, run_room_need(run), err);

	if (r == 0)
		return lease(run, err);
	run->final = r == -E2BIG;
	if (r != -EAGAIN)
		return run->final ? -EINVAL : r; /* it never fits */
	run_forget_inputs(run);
	return 0;
}

/* Return: as run_collect(). */
static int collect(struct run *run, uint64_t until, struct err *err)
{
	int r = run->inputs.collected ? 0 : run_collect(run, until, err);

	return r == 0 && run->slot.granted ? settle(run, err) : r;
}

void run_no_machine(struct run *run, const char *why)
{
	if (run_is_accepted(run))
		run_finish(run, STATUS_FAILED, why);
	else
		run_fail(run, RUN_FAILED_UNASKED, why);
}

static bool on_collect(struct turn *t, uint64_t until)
{
	struct run *run = container_of(t, struct run, queue.collect);
	struct err err = { 0 };
	int r = collect(run, until, &err);

	if (r < 0)
		run_no_machine(run, err.text);
	return r > 0;
}

void run_collect_later(struct run *run)
{
	run->queue.collect.work = on_collect;
	turn_begin(&run->d->turns, &run->queue.collect);
}

/* Return: as run_collect(). */
static int prepare(struct run *run, struct err *err)
{
	int r = run->vm_job.wire.argv.count ? 0 : run_prepare(run, err);

	return r == 0 ? collect(run, now_ns() + COLLECT_NS, err) : r;
}

/* As far as it goes now, the rest later, unless that is under way. */
static int prepare_all(struct run *run, struct err *err)
{
	int r = list_empty(&run->queue.collect.node) ? prepare(run, err) : 0;

	if (r > 0)
		run_collect_later(run);
	return MIN(r, 0);
}

void run_make_ready(struct run *run)
{
	struct err err = { 0 };

	if (prepare_all(run, &err) < 0)
		run_no_machine(run, err.text);
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

/* The session or sandbox is queued, not what runs in it. While it has no environment
 * run_make_ready() follows. */
static int enter_sandbox(struct run *run, struct err *err)
{
	int r = sandbox_enter(run, err);

	run->slot.granted = r == 0;
	return r < 0 || sandbox_is_built(run) ? r : prepare(run, err);
}

int run_ask(struct run *run, struct err *err)
{
	const struct job_config *c = run->spec.config;
	int r;

	if (c->sandbox || c->session)
		return enter_sandbox(run, err);
	r = await_build(run, err);
	if (r)
		return MIN(r, 0);
	run->slot = (struct sched_slot){
		.ops = &slot_ops, .uid = run->job->meta.uid,
		.priority = c->priority,
		.memory = MIB(c->memory_mb), .cpus = (unsigned)c->cpus,
		.old = run->job->leftover.left ? MAX(run->job->meta.queued_no, 1u) : 0,
	};
	r = sched_enter(run->d->sched, &run->slot);
	if (r < 0)
		return err_sys(err, r, "the job cannot be queued");
	return r ? prepare(run, err) : 0;
}

void run_queue(struct run *run)
{
	struct err err = { 0 };
	int more = run_ask(run, &err);

	if (more < 0)
		run_no_machine(run, err.text);
	else if (more)
		run_collect_later(run);
	else
		sched_tell(&run->slot);
}

void run_collect_more(struct run *run)
{
	struct err err = { 0 };

	run_collect_stop(run);
	if (prepare(run, &err) < 0)
		run_no_machine(run, err.text);
}

void run_collect_stop(struct run *run)
{
	turn_stop(&run->queue.collect);
}

/* The disk may say that it has room, and have none for what a run needs. */
#define PUT_BACK_MAX 20

bool run_put_back_queued(struct run *run)
{
	if (run->queue.put_back >= PUT_BACK_MAX ||
	    sched_put_back(&run->slot) < 0)
		return false;
	run->queue.put_back++;
	return true;
}

void run_queue_done(struct run *run)
{
	builds_leave(&run->queue.build);
}
