/* SPDX-License-Identifier: Apache-2.0 */
/* A job that a daemon before this one had accepted. */
#include "commit_int.h"

#include <errno.h>

#include "fsd/run/sched_open.h"

void commit_refuse_again(struct job *job)
{
	struct run_spec spec = { 0 };
	struct err err = { 0 };
	enum verdict v;

	if (commit_put_off(job))
		return; /* what it was told stays */
	v = commit_examine(job, false, &spec, &err);
	if (verdict_is_no(v))
		commit_refuse(job, v, &err);
	run_spec_done(&spec);
}

bool commit_is_left(const struct job *job)
{
	return !job->removed && job->meta.state == JOB_QUEUED && !job->run;
}

/* It was started once, whether by its config or by ctl. */
void commit_take_up(struct job *job)
{
	struct run_spec spec = { 0 };
	struct err err = { 0 };
	enum verdict v = run_check_inputs(job, &err) < 0
				 ? WRONG
				 : commit_examine(job, true, &spec, &err);

	if (v == READY && sched_check_job(job, spec.config, &err) < 0) {
		run_spec_done(&spec);
		v = WRONG;
	}
	if (v == READY && run_start(job, &spec, &err) < 0)
		v = WRONG;
	/* The release of that file comes, or comes again, and begins it. That
	 * it has been begun once says nothing: the release had done so, and
	 * its server died before the kernel was told. */
	if (v == OPEN) {
		commit_promise_again(job);
		return;
	}
	if (v == ABSENT)
		err_set(&err, -EINVAL, "its program or its inputs are gone");
	if (v != READY) {
		err_wrap(&err, COMMIT_ACCEPTED_BEFORE);
		run_reject(job, err.text);
	}
}

static void get_ready(struct job *job)
{
	struct node *node;

	node_load_all(job->files);
	node = parsed_node(job);
	if (node && !node->writers)
		parsed_prepare(job, node);
}

void commit_resume_now(struct job *job)
{
	if (!commit_is_left(job))
		return;
	get_ready(job);
	commit_take_up(job);
}

void commit_evaluate_now(struct job *job, bool config_closed)
{
	if (!job->removed && !job_is_frozen(job))
		get_ready(job);
	commit_evaluate(job, config_closed);
}
