/* SPDX-License-Identifier: Apache-2.0 */
/* Watchers of jobs: which of them is called when, and in which order. */
#include "fsd/jobs/job_state.h"

#include "tests/unit/fsd/job_fixture.h"
#include "tests/unit/run_bounded.h"
#include "tests/unit/tap.h"

/* What the watchers were called for since the last look, as "a:changed b:changed". */
static char calls[1000];

static void note(char who, const char *what)
{
	size_t used = strlen(calls);

	snprintf(calls + used, sizeof(calls) - used, "%s%c:%s", used ? " " : "",
		 who, what);
}

static const char *called(void)
{
	static char text[sizeof(calls)];

	strcpy(text, calls);
	calls[0] = '\0';
	return text;
}

#define RECORDER(who, letter)                                               \
	static void who##_known(struct job *job)                            \
	{                                                                   \
		(void)job;                                                  \
		note(letter, "known");                                      \
	}                                                                   \
	static void who##_changed(struct job *job)                          \
	{                                                                   \
		(void)job;                                                  \
		note(letter, "changed");                                    \
	}                                                                   \
	static void who##_entered(struct job *job)                          \
	{                                                                   \
		note(letter, state_name(job->meta.state));                  \
	}                                                                   \
	static void who##_grew(struct job *job, enum job_vfile vfile)           \
	{                                                                   \
		(void)job;                                                  \
		note(letter, job_vfiles[vfile].name);                           \
	}                                                                   \
	static void who##_leaving(struct job *job)                          \
	{                                                                   \
		note(letter, job->removed ? "late" : "leaving");            \
	}                                                                   \
	static void who##_stays(struct job *job)                            \
	{                                                                   \
		note(letter, job->removed ? "late" : "stays");              \
	}                                                                   \
	static void who##_removed(struct job *job)                          \
	{                                                                   \
		note(letter, job->removed ? "removed" : "early");           \
	}                                                                   \
	static void who##_unloaded(struct job *job)                         \
	{                                                                   \
		note(letter, job->removed ? "unloaded" : "early");          \
	}                                                                   \
	static const struct job_watcher who = {                             \
		.known = who##_known,	    .changed = who##_changed,      \
		.entered = who##_entered,   .grew = who##_grew,            \
		.leaving = who##_leaving,   .stays = who##_stays,          \
		.removed = who##_removed,   .unloaded = who##_unloaded,    \
	}

RECORDER(first, 'a');
RECORDER(second, 'b');
RECORDER(third, 'c');
RECORDER(fourth, 'd');

static const struct job_watcher silent;

static const struct job_watcher *const watchers[] = {
	&first, &second, &silent, &third, &fourth, NULL,
};

static void test_order(void)
{
	struct job_fixture f = { 0 };
	struct job *job;

	fixture_open(&f, watchers);
	job = fixture_job(&f, "one");
	is_str(called(), "a:known b:known c:known d:known",
	       "a job that is made is known to all, in the order of the list");
	job_changed(job);
	is_str(called(), "a:changed b:changed c:changed d:changed",
	       "a change comes to all");
	job_grew(job, JOB_VFILE_STDOUT);
	is_str(called(), "a:stdout b:stdout c:stdout d:stdout",
	       "growth comes with its row");
	is_int(job_post(job, EV_REFUSE), 0, "a state is entered");
	is_str(called(), "a:changed b:changed c:changed d:changed "
	       "a:refused b:refused c:refused d:refused",
	       "readers hear of the change before any watcher of the state");
	is_int(job_post(job, EV_END), -EINVAL, "an event that cannot be");
	is_str(called(), "", "reaches no watcher");
	job_ref(job);
	is_int(job_remove(job), 0, "it is removed");
	is_str(called(), "a:leaving b:leaving c:leaving d:leaving "
	       "a:removed b:removed c:removed d:removed",
	       "its run stops first, and all hear of the removal afterwards");
	job_unref(job);
	fixture_close(&f);
	is_str(called(), "", "at the end it is no news any more");
}

static void test_end(void)
{
	struct job_fixture f = { 0 };
	struct job *job;

	fixture_open(&f, watchers);
	job = job_ref(fixture_job(&f, "one"));
	called();
	jobs_end(&f.d);
	is_str(called(), "a:leaving b:leaving c:leaving d:leaving "
	       "a:unloaded b:unloaded c:unloaded d:unloaded",
	       "a server that ends unloads its jobs, and removes none");
	job_changed(job);
	is_str(called(), "", "after the table is gone a change reaches none");
	job_unref(job);
	fixture_close(&f);
}

static unsigned asked;

static bool ask(struct job *job)
{
	(void)job;
	asked++;
	return false;
}

static const struct job_watcher helper = { .ask_removal = ask };

static void quit(struct job *job)
{
	loop_quit(job->d->loop);
}

static const struct job_watcher quitter = { .removed = quit };

static void test_ask(void)
{
	static const struct job_watcher *const with[] = {
		&silent, &helper, &retain_watcher, &quitter, NULL,
	};
	struct job_fixture f = { 0 };
	struct job *job;

	fixture_open(&f, with);
	job = fixture_job(&f, "one");
	retain_held_end(job);
	run_bounded(f.d.loop, 10 * NS_PER_S);
	is_int(asked, 1, "the watcher that can is asked to remove a doomed job");
	ok(!job_by_name(&f.d, "one"), "which goes at once if that one cannot");
	fixture_close(&f);
}

int main(void)
{
	test_order();
	test_end();
	test_ask();
	return done_testing();
}
