/* SPDX-License-Identifier: Apache-2.0 */
/* How near a server is to its end, and what may begin meanwhile. */
#include "fsd/jobs/lifecycle.h"

#include "tests/unit/run_bounded.h"
#include "tests/unit/tap.h"

static unsigned calls;

static void on_idle(void *arg)
{
	calls++;
	loop_quit(arg);
}

static void test_handover_and_stop(struct loop *loop)
{
	struct lifecycle *l;

	if (!ok(lifecycle_new(loop, on_idle, loop, &l) == 0, "a server begins"))
		return;
	ok(lifecycle_begins_runs(l) && !lifecycle_is_draining(l),
	   "at first jobs and runs begin");
	lifecycle_set_draining(l, true);
	ok(lifecycle_begins_runs(l) && lifecycle_is_draining(l),
	   "a drain stops jobs and no run");
	lifecycle_set_draining(l, false);
	lifecycle_hand_over(l);
	ok(!lifecycle_begins_runs(l) && lifecycle_is_handing_over(l) &&
		   !lifecycle_is_draining(l),
	   "a handover stops runs and no job");
	lifecycle_break(l);
	ok(lifecycle_is_broken(l) && lifecycle_is_handing_over(l),
	   "it goes on when no machine can be started");
	lifecycle_stop(l);
	ok(lifecycle_is_stopping(l) && lifecycle_is_draining(l) &&
		   !lifecycle_begins_runs(l),
	   "a stop stops both");
	ok(!lifecycle_is_handing_over(l), "and ends the handover");
	lifecycle_free(l);
}

static void test_idle(struct loop *loop)
{
	struct lifecycle *l;

	if (!ok(lifecycle_new(loop, on_idle, loop, &l) == 0, "a server begins"))
		return;
	lifecycle_post_idle(l);
	lifecycle_post_idle(l);
	is_int(calls, 0, "the end of a run examines nothing at once");
	run_bounded(loop, 10 * NS_PER_S);
	is_int(calls, 1, "the loop does, once");
	lifecycle_post_idle(l);
	lifecycle_free(l);
}

int main(void)
{
	struct loop *loop;

	if (loop_new(&loop) < 0)
		return 1;
	test_handover_and_stop(loop);
	test_idle(loop);
	loop_free(loop);
	return done_testing();
}
