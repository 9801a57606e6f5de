/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of run_phase.h, and the setters of a run's phase and of the step of its end.
 * The file also owns struct runs, with the counts of all runs. run_enter() updates these
 * counts by the difference to run->counts, the share that the run had before; so it also
 * works when the run's config is freed. All functions run on the loop or in a fiber; none
 * waits.
 */
#include "run_phase.h"

#include <errno.h>
#include <stdlib.h>

#include "run_int.h"
#include "runs_int.h"

#define TO(phase) (1u << (phase))
/* A run may be freed in every phase: its job is removed, or the server ends. */
#define ANY TO(RUN_GONE)

static const struct run_facts facts[RUN_PHASE_MAX] = {
	[RUN_NEW] = { .name = "new" },
	[RUN_EARLY] = { .name = "early", .granted = true },
	[RUN_EARLY_LOST_JAILER] = { .name = "early lost jailer" },
	[RUN_QUEUED] = { .name = "queued", .accepted = true, .counted = true },
	[RUN_GRANTED] = { .name = "granted", .accepted = true, .granted = true,
			  .counted = true },
	[RUN_LOST_JAILER] = { .name = "lost jailer", .accepted = true,
			   .counted = true },
	[RUN_RUNNING] = { .name = "running", .accepted = true, .granted = true,
			  .counted = true, .sent = true },
	[RUN_STARTED] = { .name = "started", .accepted = true, .granted = true,
			  .counted = true, .sent = true },
	[RUN_ENDED] = { .name = "ended", .accepted = true, .granted = true,
			.counted = true, .sent = true },
	[RUN_COMPLETE] = { .name = "complete", .accepted = true,
			   .granted = true, .counted = true, .sent = true },
	[RUN_FOUND] = { .name = "found", .accepted = true },
	[RUN_LOST] = { .name = "lost", .accepted = true },
	[RUN_GONE] = { .name = "gone" },
};

static const unsigned next[RUN_PHASE_MAX] = {
	/* RUN_RUNNING: the run of an earlier server is adopted */
	[RUN_NEW] = ANY | TO(RUN_EARLY) | TO(RUN_QUEUED) | TO(RUN_RUNNING) |
		    TO(RUN_FOUND),
	[RUN_EARLY] = ANY | TO(RUN_NEW) | TO(RUN_EARLY_LOST_JAILER) |
		      TO(RUN_GRANTED),
	[RUN_EARLY_LOST_JAILER] = ANY | TO(RUN_LOST_JAILER),
	[RUN_QUEUED] = ANY | TO(RUN_GRANTED),
	/* RUN_QUEUED: the disk was full, so the run gave back its machine */
	[RUN_GRANTED] = ANY | TO(RUN_QUEUED) | TO(RUN_LOST_JAILER) |
			TO(RUN_RUNNING),
	/* RUN_GRANTED: run_stop_without_jailer(), which ends the run at once */
	[RUN_LOST_JAILER] = ANY | TO(RUN_GRANTED),
	/* RUN_GRANTED: the session's interpreter had ended, and another one is started;
	 * RUN_ENDED: the program was killed before STARTED came */
	[RUN_RUNNING] = ANY | TO(RUN_GRANTED) | TO(RUN_LOST_JAILER) |
			TO(RUN_STARTED) | TO(RUN_ENDED),
	[RUN_STARTED] = ANY | TO(RUN_ENDED),
	[RUN_ENDED] = ANY | TO(RUN_COMPLETE),
	[RUN_COMPLETE] = ANY,
	[RUN_FOUND] = ANY | TO(RUN_LOST),
	[RUN_LOST] = ANY,
};

const struct run_facts *run_facts(enum run_phase phase)
{
	return &facts[phase];
}

bool run_phase_may(enum run_phase from, enum run_phase to)
{
	return (unsigned)from < RUN_PHASE_MAX && (unsigned)to < RUN_PHASE_MAX &&
	       next[from] & TO(to);
}

enum run_phase run_phase_accepted(enum run_phase from)
{
	switch (from) {
	case RUN_EARLY:
		return RUN_GRANTED;
	case RUN_EARLY_LOST_JAILER:
		return RUN_LOST_JAILER;
	default:
		return RUN_QUEUED;
	}
}

static const unsigned next_end[RUN_END_MAX] = {
	[RUN_END_OPEN] = TO(RUN_END_AGAIN) | TO(RUN_END_PUBLISH),
	[RUN_END_AGAIN] = TO(RUN_END_PUBLISH),
};

bool run_end_may(enum run_end_step from, enum run_end_step to)
{
	return (unsigned)from < RUN_END_MAX && (unsigned)to < RUN_END_MAX &&
	       next_end[from] & TO(to);
}

/* --- the setters ------------------------------------------------------------ */

static struct run_counts counts_of(const struct run *run, enum run_phase phase)
{
	const struct job_config *c = run->spec.config;
	bool busy = facts[phase].granted, endless = busy && c && !c->timeout_ms;

	return (struct run_counts){
		.running = facts[phase].counted,
		.busy = busy,
		.endless = endless,
		.adopted = busy && !endless && run->adopted,
	};
}

void run_enter(struct run *run, enum run_phase phase)
{
	const struct run_counts before = run->counts,
				after = counts_of(run, phase);
	struct run_counts *all = &run->d->runs->counts;

	if (!run_phase_may(run->phase, phase))
		log_error("run %u of job %s cannot be %s when it is %s",
			  run->number, run->job ? run->job->meta.name : "?",
			  facts[phase].name, facts[run->phase].name);
	all->running += after.running - before.running;
	all->busy += after.busy - before.busy;
	all->endless += after.endless - before.endless;
	all->adopted += after.adopted - before.adopted;
	run->counts = after;
	run->phase = phase;
}

void run_end_enter(struct run *run, enum run_end_step step)
{
	if (!run_end_may(run->ending.step, step))
		log_error("the end of run %u of job %s cannot go from step %u "
			  "to %u", run->number,
			  run->job ? run->job->meta.name : "?", run->ending.step,
			  step);
	run->ending.step = step;
}

/* --- all runs ---------------------------------------------------------------- */

int runs_new(const struct run_host *own, const struct run_host *living,
	     struct runs **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->own = own;
	(*ret)->living = living;
	return 0;
}

void runs_free(struct runs *runs)
{
	struct hash_node *h;
	size_t from = 0;

	if (!runs)
		return;
	while ((h = hash_any(&runs->last, &from))) {
		hash_del(&runs->last, h);
		free(container_of(h, struct last_environments, by_uid));
	}
	hash_done(&runs->last);
	loop_timer_del(&runs->room.timer);
	free(runs);
}

const struct run_counts *runs_counts(const struct runs *runs)
{
	return &runs->counts;
}
