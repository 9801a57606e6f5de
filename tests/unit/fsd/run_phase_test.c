/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a run: which may follow which, what each means, and what a run adds
 * to the counts of the daemon on the ways that runs take.
 */
#include "fsd/run/run_int.h"
#include "tests/unit/tap.h"

#include <stdlib.h>

static const struct {
	enum run_phase from, to;
} steps[] = {
	{ RUN_NEW, RUN_EARLY },
	{ RUN_NEW, RUN_QUEUED },
	{ RUN_NEW, RUN_RUNNING },
	{ RUN_NEW, RUN_FOUND },
	{ RUN_EARLY, RUN_NEW },
	{ RUN_EARLY, RUN_EARLY_LOST_JAILER },
	{ RUN_EARLY, RUN_GRANTED },
	{ RUN_EARLY_LOST_JAILER, RUN_LOST_JAILER },
	{ RUN_QUEUED, RUN_GRANTED },
	{ RUN_GRANTED, RUN_QUEUED },
	{ RUN_GRANTED, RUN_LOST_JAILER },
	{ RUN_GRANTED, RUN_RUNNING },
	{ RUN_LOST_JAILER, RUN_GRANTED },
	{ RUN_RUNNING, RUN_GRANTED },
	{ RUN_RUNNING, RUN_LOST_JAILER },
	{ RUN_RUNNING, RUN_STARTED },
	{ RUN_RUNNING, RUN_ENDED },
	{ RUN_STARTED, RUN_ENDED },
	{ RUN_ENDED, RUN_COMPLETE },
	{ RUN_FOUND, RUN_LOST },
};

static bool may(enum run_phase from, enum run_phase to)
{
	if (to == RUN_GONE)
		return from != RUN_GONE;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (steps[i].from == from && steps[i].to == to)
			return true;
	return false;
}

static void test_steps(void)
{
	for (unsigned f = 0; f < RUN_PHASE_MAX; f++)
		for (unsigned t = 0; t < RUN_PHASE_MAX; t++) {
			enum run_phase from = (enum run_phase)f,
				       to = (enum run_phase)t;

			ok(run_phase_may(from, to) == may(from, to),
			   "a run that is %s %s be %s next",
			   run_facts(from)->name,
			   may(from, to) ? "may" : "cannot",
			   run_facts(to)->name);
		}
	ok(!run_phase_may(RUN_PHASE_MAX, RUN_GONE) &&
		   !run_phase_may(RUN_NEW, RUN_PHASE_MAX),
	   "a phase that is none has no neighbour");
}

static void test_accepted(void)
{
	static const enum run_phase before[] = { RUN_NEW, RUN_EARLY,
						 RUN_EARLY_LOST_JAILER };

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		const struct run_facts *was = run_facts(before[i]);
		enum run_phase after = run_phase_accepted(before[i]);
		const struct run_facts *is = run_facts(after);

		ok(!was->accepted && is->accepted && is->counted,
		   "a run that is %s is %s once it is accepted", was->name,
		   is->name);
		ok(was->granted == is->granted,
		   "and has a machine as before");
		ok(run_phase_may(before[i], after), "which is a step");
	}
}

static void test_facts(void)
{
	for (unsigned p = 0; p < RUN_PHASE_MAX; p++) {
		const struct run_facts *f = run_facts((enum run_phase)p);

		ok(f->name, "phase %u has a name", p);
		ok(!f->sent || f->granted, "%s: RUN is sent to a machine",
		   f->name);
		ok(!f->counted || f->accepted,
		   "%s: what waits or runs was accepted", f->name);
	}
}

/* --- the counts ------------------------------------------------------------- */

static const enum run_phase usual[] = {
	RUN_QUEUED, RUN_GRANTED, RUN_RUNNING, RUN_STARTED, RUN_ENDED,
	RUN_COMPLETE, RUN_GONE,
}, at_hand[] = {
	RUN_EARLY, RUN_GRANTED, RUN_RUNNING, RUN_STARTED, RUN_ENDED, RUN_GONE,
}, put_back[] = {
	RUN_QUEUED, RUN_GRANTED, RUN_QUEUED, RUN_GRANTED, RUN_GONE,
}, jailer_ends[] = {
	RUN_EARLY, RUN_EARLY_LOST_JAILER, RUN_LOST_JAILER, RUN_GRANTED, RUN_GONE,
}, other_server[] = {
	RUN_RUNNING, RUN_STARTED, RUN_STARTED, RUN_GONE,
}, found[] = {
	RUN_FOUND, RUN_LOST, RUN_GONE,
};

static void go(struct run *run, const enum run_phase *way, const char *name)
{
	const struct run_counts *c = runs_counts(run->d->runs);
	size_t i = 0;

	do {
		const struct run_facts *f = run_facts(way[i]);

		if (way[i] != run->phase)
			run_enter(run, way[i]);
		ok(c->running == f->counted && c->busy == f->granted,
		   "%s: the counts of one that is %s", name, f->name);
		ok(c->endless == (run->spec.config && f->granted &&
				  !run->spec.config->timeout_ms),
		   "%s: so does that without a timeout", name);
		ok(c->adopted == (run->adopted && f->granted && !c->endless),
		   "%s: so does that of another server, unless it has no timeout", name);
	} while (way[i++] != RUN_GONE);
	ok(!c->running && !c->busy && !c->endless && !c->adopted,
	   "%s: one that is gone counts no more", name);
}

static void try(const enum run_phase *way, const char *name, uint64_t timeout_ms)
{
	const struct job_config config = { .timeout_ms = timeout_ms };
	struct fsd *d = calloc(1, sizeof(*d));
	struct run *run = calloc(1, sizeof(*run));

	if (d && run && runs_new(NULL, NULL, &d->runs) == 0) {
		run->d = d;
		run->spec.config = &config;
		run->adopted = way == other_server;
		go(run, way, name);
		runs_free(d->runs);
	}
	free(run);
	free(d);
}

static void test_counts(void)
{
	for (uint64_t timeout_ms = 0; timeout_ms < 2; timeout_ms++) {
		try(usual, "the usual way", timeout_ms);
		try(at_hand, "a machine at hand", timeout_ms);
		try(put_back, "no room on the disk", timeout_ms);
		try(jailer_ends, "the jailer ends", timeout_ms);
		try(other_server, "another server's", timeout_ms);
		try(found, "found", timeout_ms);
	}
}

/* A follower takes the config of a run that is to be freed. */
static void test_config_goes(void)
{
	const struct job_config config = { 0 };
	struct fsd *d = calloc(1, sizeof(*d));
	struct run *run = calloc(1, sizeof(*run));

	if (d && run && runs_new(NULL, NULL, &d->runs) == 0) {
		run->d = d;
		run->spec.config = &config;
		run_enter(run, RUN_QUEUED);
		run_enter(run, RUN_GRANTED);
		is_int(runs_counts(d->runs)->endless, 1,
		       "one without a timeout is counted");
		run->spec.config = NULL;
		run_enter(run, RUN_GONE);
		is_int(runs_counts(d->runs)->endless, 0,
		       "and no more, if its config went first");
		runs_free(d->runs);
	}
	free(run);
	free(d);
}

/* --- its end ---------------------------------------------------------------- */

static void test_end(void)
{
	static const char *const names[] = { "open", "again", "publish",
					     "retry" };
	static const bool may_end[RUN_END_MAX][RUN_END_MAX] = {
		[RUN_END_OPEN][RUN_END_AGAIN] = true,
		[RUN_END_OPEN][RUN_END_PUBLISH] = true,
		[RUN_END_AGAIN][RUN_END_PUBLISH] = true,
	};

	for (unsigned f = 0; f < RUN_END_MAX; f++)
		for (unsigned t = 0; t < RUN_END_MAX; t++)
			ok(run_end_may((enum run_end_step)f,
				       (enum run_end_step)t) == may_end[f][t],
			   "an end that is %s %s be %s next", names[f],
			   may_end[f][t] ? "may" : "cannot", names[t]);
	ok(!run_end_may(RUN_END_MAX, RUN_END_OPEN) &&
		   !run_end_may(RUN_END_OPEN, RUN_END_MAX),
	   "a step that is none has no neighbour");
}

int main(void)
{
	test_steps();
	test_accepted();
	test_facts();
	test_counts();
	test_config_goes();
	test_end();
	return done_testing();
}
