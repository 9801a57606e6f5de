/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run waits: for what its host asks for first (run_host.h), for its inputs to be
 * listed, for a machine. Each step asks for the next one.
 */
#include <errno.h>
#include <string.h>

#include "run_int.h"

/* Inputs are collected for so long before it is the others' turn. */
#define COLLECT_NS (NS_PER_MS)

/* It waits again, and holds nothing meanwhile. */
void run_forget_inputs(struct run *run)
{
	run_unprepare(run);
	arena_done(&run->texts);
}

/* --- inputs ----------------------------------------------------------------- */

/* Its inputs are known, and with them what its machine may come to. */
static int settle(struct run *run, struct err *err)
{
	int r = sched_grow(&run->slot, run_room_need(run), err);

	if (r == 0) {
		run_note_environment(run);
		return run->host->lease(run, err);
	}
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

static bool on_collect(struct time_slice *t, uint64_t until)
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
	time_slice_begin(&run->d->slices, &run->queue.collect);
}

int run_get_ready(struct run *run, struct err *err)
{
	int r = run->vm_job.wire.argv.count ? 0 : run_prepare(run, err);

	return r == 0 ? collect(run, now_ns() + COLLECT_NS, err) : r;
}

/* As far as it goes now, the rest later, unless that is under way. */
static int prepare_all(struct run *run, struct err *err)
{
	int r = list_empty(&run->queue.collect.node) ? run_get_ready(run, err) : 0;

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

uint64_t run_queued_before(const struct run *run)
{
	return run->job->leftover.left ? MAX(run->job->meta.queued_no, 1u) : 0;
}

int run_ask(struct run *run, struct err *err)
{
	return run->host->ask(run, err);
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
		run->host->tell(run);
}

void run_collect_more(struct run *run)
{
	struct err err = { 0 };

	run_collect_stop(run);
	if (run_get_ready(run, &err) < 0)
		run_no_machine(run, err.text);
}

void run_collect_stop(struct run *run)
{
	time_slice_stop(&run->queue.collect);
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
