/* SPDX-License-Identifier: Apache-2.0 */
/* Slow work on threads: each task once, in order, and none is left behind. */
#include <pthread.h>
#include <stdatomic.h>

#include "../../fsd/chores.h"
#include "tap.h"

#define TASKS 5000

struct step {
	struct task task;
	int no;
	atomic_int worked;
	int done;
};

static struct loop *loop;
static struct step steps[TASKS];
static int begun[TASKS];
static atomic_int begun_count;
static int done_count, wrong_results;

static int work(struct task *t)
{
	struct step *s = container_of(t, struct step, task);

	begun[atomic_fetch_add(&begun_count, 1)] = s->no;
	atomic_fetch_add(&s->worked, 1);
	return s->no;
}

static void done(struct task *t, int result)
{
	struct step *s = container_of(t, struct step, task);

	s->done++;
	wrong_results += result != s->no;
	if (++done_count == TASKS)
		loop_quit(loop);
}

static void begin(unsigned threads, struct chores **ret)
{
	begun_count = 0;
	done_count = wrong_results = 0;
	loop_new(&loop);
	chores_new(loop, threads, ret);
	for (int i = 0; i < TASKS; i++)
		steps[i] = (struct step){
			.no = i, .task = { .work = work, .done = done },
		};
}

static void add(struct chores *w, int from, int to)
{
	for (int i = from; i < to; i++)
		chores_add(w, &steps[i].task);
}

static int wrong_counts(void)
{
	int wrong = 0;

	for (int i = 0; i < TASKS; i++)
		wrong += steps[i].worked != 1 || steps[i].done != 1;
	return wrong;
}

static int out_of_order(void)
{
	int wrong = 0;

	for (int i = 0; i < TASKS; i++)
		wrong += begun[i] != i;
	return wrong;
}

static void test_one(void)
{
	struct chores *w;

	begin(1, &w);
	add(w, 0, TASKS);
	loop_run(loop);
	is_int(out_of_order(), 0, "one thread begins its tasks in their order");
	is_int(wrong_counts() + wrong_results, 0,
	       "each is worked on once and handed back once, with its result");
	chores_free(w);
	loop_free(loop);
}

struct slice {
	struct loop_call call;
	struct chores *w;
	int at;
};

/* New work comes while old work ends. */
static void on_slice(struct loop_call *c)
{
	struct slice *s = c->arg;

	add(s->w, s->at, s->at + 50);
	s->at += 50;
	if (s->at < TASKS)
		loop_defer(loop, c);
}

static void test_many(void)
{
	struct chores *w;
	struct slice s = { .call = { .fn = on_slice, .arg = &s } };

	begin(CHORES_THREADS, &w);
	s.w = w;
	loop_defer(loop, &s.call);
	loop_run(loop);
	is_int(wrong_counts() + wrong_results, 0,
	       "several threads share out what comes, each task once");
	chores_free(w);
	loop_free(loop);
}

static void test_end(void)
{
	struct chores *w;

	begin(CHORES_THREADS, &w);
	add(w, 0, TASKS);
	chores_free(w);
	is_int(wrong_counts() + wrong_results, 0,
	       "the end finishes what was not begun, without a loop");
	loop_free(loop);
}

int main(void)
{
	test_one();
	test_many();
	test_end();
	return done_testing();
}
