/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that a test runs: it ends by loop_quit(), or after a bound, so that broken code
 * fails the test and does not hang it. */
#ifndef TESTS_UNIT_RUN_BOUNDED_H
#define TESTS_UNIT_RUN_BOUNDED_H

#include "vm/os/loop.h"

static void run_bound_reached(struct loop_timer *t)
{
	loop_quit(t->arg);
}

static void run_bounded(struct loop *loop, uint64_t ns)
{
	struct loop_timer bound = { .fn = run_bound_reached, .arg = loop };

	loop_timer_set(loop, &bound, ns);
	loop_run(loop);
	loop_timer_del(&bound);
}

#endif
