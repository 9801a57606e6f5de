/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and frees struct run, and counts the fibers that use it (run->busy). The job owns
 * its run (job->run) until the run has ended or the job is removed. If fibers still use
 * the run then, the last one frees it. All functions run on the loop or in a fiber; none
 * waits.
 */
#include "run.h"

#include <unistd.h>

#include "fsd/jobs/lifecycle.h"
#include "fsd/jobs/parsed_config.h"
#include "run_int.h"
#include "run_network.h"
#include "runs_int.h"

void run_spec_done(struct run_spec *spec)
{
	parsed_config_unref(spec->parsed);
	*spec = (struct run_spec){ 0 };
}

void run_leave(struct run *run)
{
	run->host->leave(run);
	sched_release(&run->slot.hold);
}

void run_free(struct run *run)
{
	if (!run)
		return;
	loop_timer_del(&run->timer);
	feed_free(run);
	run_leave(run);
	run_replay_end(run);
	run_queue_done(run);
	sched_leave(&run->slot);
	run_enter(run, RUN_GONE);
	lifecycle_post_idle(run->d->lifecycle);
	run_unprepare(run);
	run_output_done(run);
	arena_done(&run->texts);
	run_streams_done(run);
	output_queue_done(run);
	run_end_done(run);
	run_network_done(run);
	if (run->spec.code)
		node_unref(run->spec.code);
	run_environment_done(run);
	run_spec_done(&run->spec);
	free(run);
}

const struct run_host *run_host_of(const struct fsd *d, const struct job_config *c)
{
	return c && (c->sandbox || c->session) ? d->runs->living : d->runs->own;
}

struct run *run_new(struct job *job, struct run_spec *spec, unsigned number)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run) {
		run_spec_done(spec);
		return NULL;
	}
	run->job = job;
	run->d = job->d;
	run->host = run_host_of(job->d, spec->config);
	run->number = number;
	run->why = RUN_NOT_FAILED;
	run->spec = *spec;
	*spec = (struct run_spec){ 0 };
	if (run->spec.code)
		node_ref(run->spec.code); /* a user may remove the file meanwhile */
	run_tree_init(run);
	feed_init(run);
	run_streams_init(run);
	output_queue_init(run);
	run_queued_since(run, now_ns());
	return run;
}

void run_hold(struct run *run)
{
	run->busy++;
}

void run_let_go(struct run *run)
{
	if (--run->busy == 0 && !run->job)
		run_free(run);
}

void run_give_up(struct run *run)
{
	if (!run->busy) {
		run_free(run);
		return;
	}
	loop_timer_del(&run->timer);
	run_leave(run);
	run_unprepare(run);
	sched_leave(&run->slot);
	run->job = NULL; /* the last run_let_go() frees it */
}
