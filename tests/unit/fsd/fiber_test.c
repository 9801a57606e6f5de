/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers and lanes: who runs when. */
#include <errno.h>

#include "fsd/base/fiber_lock.h"
#include "tests/unit/tap.h"

static struct loop *loop;
static char told[200]; /* what happened, a letter each */

static void tell(char c)
{
	size_t n = strlen(told);

	told[n] = c;
	told[n + 1] = '\0';
}

static void on_stop(struct loop_timer *t)
{
	(void)t;
	loop_quit(loop);
}

/* Until nothing is due any more. */
static void run_loop(void)
{
	struct loop_timer stop = {.fn = on_stop};

	loop_timer_set(loop, &stop, 20 * NS_PER_MS);
	loop_run(loop);
}

static struct fiber *paused;

static void pauses(void *arg)
{
	const char *letters = arg;

	tell(letters[0]);
	paused = fiber_self();
	fiber_pause();
	tell(letters[1]);
}

static void test_pause(void)
{
	told[0] = '\0';
	ok(!fiber_self(), "outside of fibers there is none");
	is_int(fiber_start(pauses, (char[]){"ab"}), 0, "a fiber begins");
	is_str(told, "a", "and runs until it waits");
	ok(!fiber_self(), "then its starter goes on");
	fiber_resume(paused);
	is_str(told, "ab", "it goes on where it was");
	told[0] = '\0';
	fiber_start(pauses, (char[]){"cd"});
	fiber_wake(paused);
	fiber_wake(paused);
	is_str(told, "c", "a fiber that is woken waits for the loop");
	run_loop();
	is_str(told, "cd", "and is resumed once");
}

static void breathes(void *arg)
{
	tell(*(char *)arg);
	fiber_breathe();
	tell(*(char *)arg);
}

static void inner(void *arg)
{
	static char letters[] = "23";

	tell('1');
	fiber_start(pauses, letters);
	tell('4');
	(void)arg;
}

static void test_turns(void)
{
	told[0] = '\0';
	fiber_start(breathes, (char[]){"x"});
	fiber_start(breathes, (char[]){"y"});
	run_loop();
	is_str(told, "xyxy", "fibers take turns");
	told[0] = '\0';
	fiber_start(inner, NULL);
	is_str(told, "124", "one that starts another goes on when that waits");
	fiber_resume(paused);
	is_str(told, "1243", "and need not be there when that goes on");
}

static struct fiber_lock lock;

static void holds(void *arg)
{
	const char *letters = arg;

	fiber_lock_enter(&lock);
	tell(letters[0]);
	fiber_breathe();
	tell(letters[1]);
	fiber_lock_leave(&lock);
}

static void looks(void *arg)
{
	(void)arg;
	tell(fiber_lock_wait(&lock) ? 'w' : 'n');
}

static void enters_twice(void *arg)
{
	(void)arg;
	tell(fiber_lock_enter(&lock) ? 'e' : 'E');
	tell(fiber_lock_enter(&lock) ? 'a' : 'A');
	tell(fiber_lock_is_free(&lock) ? 'f' : 'F');
	fiber_lock_leave(&lock);
}

static void test_lanes(void)
{
	fiber_lock_init(&lock);
	told[0] = '\0';
	fiber_start(holds, (char[]){"ab"});
	fiber_start(holds, (char[]){"cd"});
	fiber_start(looks, NULL);
	fiber_start(holds, (char[]){"ef"});
	is_str(told, "a", "a lane has one owner");
	ok(!fiber_lock_is_free(&lock), "and is not free meanwhile");
	run_loop();
	is_str(told, "abcdwef", "the others come in the order of their coming");
	told[0] = '\0';
	fiber_start(looks, NULL);
	is_str(told, "n", "who looks at a free lane does not wait");
	told[0] = '\0';
	fiber_start(enters_twice, NULL);
	is_str(told, "eAf", "who holds it enters it no second time");
	ok(!fiber_lock_enter(&lock), "outside of fibers nobody enters");
	ok(fiber_lock_is_free(&lock), "and it is free");
}

int main(void)
{
	loop_new(&loop);
	is_int(fiber_start(pauses, NULL), -ENOMEM,
	       "before the loop there are no fibers");
	fibers_init(loop);
	test_pause();
	test_turns();
	test_lanes();
	fibers_finish();
	fibers_done();
	loop_free(loop);
	return done_testing();
}
