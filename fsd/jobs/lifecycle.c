/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage of this server on its way to its end. Each flag is set once; only draining
 * can end, by the operator. lifecycle_post_idle() defers a call, so that
 * server/shutdown.c examines the counts of runs when the caller that ended a run is done.
 */
#include "lifecycle.h"

#include <errno.h>
#include <stdlib.h>

#include "vm/os/loop.h"

struct lifecycle {
	struct loop *loop; /* borrowed */
	bool draining, stopping, handing_over, broken;
	struct loop_call idle;
	void (*on_idle)(void *arg);
	void *arg;
};

static void on_call(struct loop_call *call)
{
	const struct lifecycle *s = call->arg;

	s->on_idle(s->arg);
}

int lifecycle_new(struct loop *loop, void (*on_idle)(void *arg), void *arg,
	      struct lifecycle **ret)
{
	struct lifecycle *s = calloc(1, sizeof(*s));

	*ret = s;
	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->idle = (struct loop_call){ .fn = on_call, .arg = s };
	s->on_idle = on_idle;
	s->arg = arg;
	return 0;
}

void lifecycle_free(struct lifecycle *s)
{
	if (!s)
		return;
	loop_call_del(&s->idle);
	free(s);
}

bool lifecycle_is_draining(const struct lifecycle *s)
{
	return s->draining;
}

void lifecycle_set_draining(struct lifecycle *s, bool draining)
{
	s->draining = draining;
}

bool lifecycle_is_stopping(const struct lifecycle *s)
{
	return s->stopping;
}

void lifecycle_stop(struct lifecycle *s)
{
	s->draining = s->stopping = true;
}

bool lifecycle_is_handing_over(const struct lifecycle *s)
{
	return s->handing_over && !s->stopping;
}

bool lifecycle_begins_runs(const struct lifecycle *s)
{
	return !s->handing_over && !s->stopping;
}

void lifecycle_hand_over(struct lifecycle *s)
{
	s->handing_over = true;
}

bool lifecycle_is_broken(const struct lifecycle *s)
{
	return s->broken;
}

void lifecycle_break(struct lifecycle *s)
{
	s->broken = true;
}

void lifecycle_post_idle(struct lifecycle *s)
{
	loop_defer(s->loop, &s->idle);
}
