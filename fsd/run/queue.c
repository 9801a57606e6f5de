/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a run from run_queue() or run_ask() to its machine. The host queues it
 * (run_host.h: ask); when its turn comes, the run is prepared and its inputs are listed;
 * then the host leases the machine. Each step starts the next one.
 *
 * Many inputs are listed in time slices (on_collect()), so that one job does not delay
 * others. The file writes run->queue. All functions run on the loop or in a fiber; none
 * waits.
 */
#include <errno.h>
#include <string.h>

#include "run_int.h"

/* The first listing of inputs stops after this time; the rest follows in time slices. */
#define COLLECT_NS (NS_PER_MS)

void run_forget_inputs(struct run *run)
{
	run_unprepare(run);
	arena_done(&run->texts);
}

/* --- inputs ----------------------------------------------------------------- */

/* Call it when all inputs are listed, so the run's need of memory is known: reserves that
 * memory and asks for the machine. If the memory is not free now, the run waits again,
 * without its list of inputs. */
static int settle(struct run *run, struct err *err)
{
	int r = sched_grow(&run->slot, run_room_need(run), err);

	if (r == 0) {
		run_note_environment(run);
		return run->host->lease(run, err);
	}
	run->final = r == -E2BIG;
	if (r != -EAGAIN)
		return run->final ? -EINVAL : r; /* -E2BIG: the run can never fit */
	run_forget_inputs(run);
	return 0;
}

/* Lists inputs; if all are listed and the run is granted, asks for its machine. Return:
 * as run_collect(). */
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

/* Lists inputs now and the rest in time slices, unless these have begun already. */
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

/* How often a run is requeued because the disk is full. The disk may report free space
 * and still have too little for a record. */
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
