/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that waits for its environment to be built. The steps of a session that has
 * not begun keep their order: one that asks for nothing waits with the one before.
 */
#include "run_int.h"

#include <string.h>

static void on_build_tell(struct build_wait *w, const char *sentence)
{
	job_log(container_of(w, struct run, build)->job, "%s", sentence);
}

/* What it asked for is not asked for twice, whatever was built. */
static void on_built(struct build_wait *w, const char *why)
{
	struct run *run = container_of(w, struct run, build);

	if (!why) {
		run->built = true;
		run_queue(run);
		return;
	}
	run->final = true;
	run_no_machine(run, why);
}

/* The step before it goes on, or has ended. */
static void on_turn(struct build_wait *w, const char *why)
{
	(void)why;
	run_queue(container_of(w, struct run, build));
}

static const struct build_wait_ops asks = {
	.tell = on_build_tell,
	.done = on_built,
};
static const struct build_wait_ops follows = {
	.tell = on_build_tell,
	.done = on_turn,
};

static bool is_before(struct build_wait *w, const void *arg)
{
	const struct run *own = arg, *run;
	const char *session = own->spec.config->session;

	if (w->ops != &asks && w->ops != &follows)
		return false;
	run = container_of(w, struct run, build);
	return run->spec.config->session &&
	       !strcmp(run->spec.config->session, session) &&
	       run->job->meta.uid == own->job->meta.uid;
}

/* Return: does it wait with the step before it? A session that lives has what it
 * has. */
static bool wait_in_line(struct run *run)
{
	struct builds *bs = run->d->builds;
	const struct build_wait *before = builds_find(bs, is_before, run);

	if (!before)
		return false;
	run->build.ops = &follows;
	builds_join(bs, before->build, &run->build, run->job->meta.uid);
	return true;
}

int run_await_build(struct run *run, struct err *err)
{
	const struct job_config *c = run->spec.config;
	int r;

	if (!run->d->builds || run->built || (c->session && sessions_lives(run)))
		return 0;
	if (c->session && wait_in_line(run)) {
		builds_tell(run->d->builds, &run->build);
		return 1;
	}
	run->build.ops = &asks;
	r = builds_take(run->d->builds, run->job->meta.uid, c, &run->build, err);
	run->final = r == -EINVAL;
	if (r > 0)
		builds_tell(run->d->builds, &run->build);
	return r;
}
