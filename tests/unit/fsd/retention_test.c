/* SPDX-License-Identifier: Apache-2.0 */
/* How long results stay: by time, by number, by bytes, and what is never removed. */
#include "fsd/jobs/job_state.h"
#include "fsd/jobs/retention.h"

#include "tests/unit/fsd/job_fixture.h"
#include "tests/unit/run_bounded.h"
#include "tests/unit/tap.h"

static const struct job_watcher *const watchers[] = { &retain_watcher, NULL };

/* A doomed job goes in the first rounds of the loop. */
#define SHORT (50 * NS_PER_MS)

/* A job of which a run has ended so many seconds ago. */
static struct job *ended(struct job_fixture *f, const char *name, uint64_t ago_s,
			 uint32_t retain_s)
{
	struct job *job = fixture_job(f, name);
	const struct job_config config = { .retain_s = retain_s };
	struct job_meta end;

	job_begin_unrecorded(job);
	job_take_limits(job, &config);
	fixture_must(job_posted(job, EV_SUBMIT, realtime_ns()) == 0, "not queued");
	end = job->meta;
	end.ended_ns = end.changed_ns = realtime_ns() - ago_s * NS_PER_S;
	fixture_must(job_ended(job, EV_FAIL, &end) == 0, "not ended");
	return job;
}

static bool is_there(struct job_fixture *f, const char *name)
{
	return job_by_name(&f->d, name) != NULL;
}

static void test_time(void)
{
	struct job_fixture f = { .retain = { .seconds = 100 } };

	fixture_open(&f, watchers);
	ended(&f, "old", 101, 0);
	ended(&f, "new", 50, 0);
	ended(&f, "short", 20, 10);
	ended(&f, "long", 101, 1000);
	fixture_job(&f, "draft");
	run_bounded(f.d.loop, SHORT);
	ok(!is_there(&f, "old"), "results go when the time of the mount is over");
	ok(is_there(&f, "new"), "and not before");
	ok(!is_there(&f, "short"), "a shorter time of the job's own counts");
	ok(!is_there(&f, "long"), "a longer one does not");
	ok(is_there(&f, "draft"), "a draft never goes");
	fixture_close(&f);
}

static void test_count(void)
{
	struct job_fixture f = { .retain = { .count = 2 } };
	struct job *used;

	fixture_open(&f, watchers);
	used = job_ref(ended(&f, "first", 30, 0));
	ended(&f, "third", 10, 0);
	ended(&f, "second", 20, 0); /* found later, ended earlier */
	ended(&f, "fourth", 5, 0);
	run_bounded(f.d.loop, SHORT);
	ok(is_there(&f, "first"), "a job that is in use stays, though doomed");
	ok(!is_there(&f, "second"), "the oldest by their end go");
	ok(is_there(&f, "third") && is_there(&f, "fourth"), "the newest stay");
	job_unref(used);
	run_bounded(f.d.loop, SHORT);
	ok(!is_there(&f, "first"), "once it is let go of, it goes");
	fixture_close(&f);
}

static void test_again(void)
{
	struct job_fixture f = { .retain = { .count = 1 } };
	struct job *job;

	fixture_open(&f, watchers);
	job = job_ref(ended(&f, "one", 30, 0));
	ended(&f, "two", 10, 0);
	job_post(job, EV_REOPEN);
	job_unref(job);
	run_bounded(f.d.loop, SHORT);
	ok(is_there(&f, "one"), "a doomed job that is asked for again is kept");
	fixture_close(&f);
}

static void test_rules(void)
{
	struct job_fixture f = { 0 };
	struct job *job;

	fixture_open(&f, watchers);
	job = ended(&f, "one", 0, 0);
	ok(!retain_may_go(job), "without limits no job goes by itself");
	ok(!retain_until(job, 5), "and has no end");
	job = ended(&f, "two", 0, 7);
	ok(retain_may_go(job), "one with a time of its own does");
	is_int((long long)retain_until(job, NS_PER_S), (long long)(8 * NS_PER_S),
	       "so long after its end");
	fixture_close(&f);
}

int main(void)
{
	test_time();
	test_count();
	test_again();
	test_rules();
	return done_testing();
}
