/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defers an examination that would block the loop: a worker thread parses a large
 * config.json, time slices load many files. Afterwards a fiber that holds the job
 * examines it, and calls each struct submit_wait.
 */
#include "submit_int.h"

#include "fsd/jobs/job_watch.h"
#include "fsd/jobs/leftover.h"
#include "fsd/jobs/parsed_config.h"

static void look_again(struct job *job)
{
	struct submit_deferred *later = take_ptr(job->submit.later);

	if (later->evaluate)
		submit_evaluate(job, later->config_closed);
	if (later->restart) {
		submit_restart(job);
		leftover_done(job);
		leftover_go_on(job->d);
	}
	list_for_each(pos, tmp, &later->waits) {
		struct submit_wait *w = list_entry(pos, struct submit_wait,
						   node);

		list_del(pos);
		if (!submit_wait(job, w)) /* true: deferred again, for a new change */
			w->done(w);
	}
	free(later);
	job_changed(job); /* readers wait for the decision, even if the state is the same */
}

static void on_ready(void *arg)
{
	job_start(arg, look_again);
}

static bool on_load(struct time_slice *t, uint64_t until)
{
	struct submit_deferred *later = container_of(t, struct submit_deferred, load);
	struct job *job = later->job;

	if (!job->removed && node_load_some(job->files, until) > 0)
		return true;
	on_ready(job);
	job_unref(job);
	return false;
}

static struct submit_deferred *later_new(void)
{
	struct submit_deferred *later = calloc(1, sizeof(*later));

	if (later) {
		list_init(&later->waits);
		later->load.work = on_load;
	}
	return later;
}

static void load_later(struct job *job)
{
	job->submit.later = later_new();
	if (!job->submit.later)
		return;
	job->submit.later->job = job_ref(job);
	time_slice_begin(&job->d->slices, &job->submit.later->load);
}

static void parse_later(struct job *job, struct node *node)
{
	job->submit.later = later_new();
	if (job->submit.later && parsed_config_prefetch(job, node, on_ready, job) < 0)
		free(take_ptr(job->submit.later));
}

bool submit_defer(struct job *job)
{
	struct node *node;

	if (job->submit.later)
		return true;
	if (node_load_some(job->files, now_ns() + NS_PER_MS) > 0)
		load_later(job);
	if (job->submit.later)
		return true;
	node = parsed_config_node(job);
	if (node && !node->writers && parsed_config_is_slow(job, node))
		parse_later(job, node);
	return job->submit.later;
}

bool submit_wait(struct job *job, struct submit_wait *w)
{
	if (!job->submit.later)
		return false;
	list_add_tail(&job->submit.later->waits, &w->node);
	return true;
}

bool submit_is_decided(const struct job *job)
{
	return !job->submit.later || !job->submit.later->evaluate;
}

void submit_prepare(struct job *job)
{
	if (!job->removed && !job_is_frozen(job))
		submit_defer(job);
}
