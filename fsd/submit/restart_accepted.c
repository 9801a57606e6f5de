/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a job that an earlier server accepted, or gives a refused one its sentence. On the
 * loop's thread; submit_evaluate_now() in a fiber. */
#include "submit_int.h"

#include <errno.h>

#include "fsd/jobs/removed_files.h"
#include "fsd/run/sched_open.h"

void submit_refuse_again(struct job *job)
{
	struct run_spec spec = { 0 };
	struct err err = { 0 };
	enum verdict v;

	if (submit_defer(job))
		return; /* the earlier sentence stays */
	v = submit_examine(job, false, &spec, &err);
	if (verdict_is_no(v))
		submit_refuse(job, v, &err);
	run_spec_done(&spec);
}

bool submit_is_leftover(const struct job *job)
{
	return !job->removed && job->meta.state == JOB_QUEUED && !job->run;
}

/* Examines the job with by_ctl true: perhaps it was started by `start` in ctl, without a
 * config. */
void submit_take_up(struct job *job)
{
	struct run_spec spec = { 0 };
	struct err err = { 0 };
	struct node *root;
	int r = removed_files(job, &root);
	enum verdict v = r < 0 ? WRONG : submit_examine(job, true, &spec, &err);

	if (r < 0)
		err_sys(&err, r, "whether inputs of it were removed cannot be read");

	if (v == READY && sched_check_job(job, spec.config, &err) < 0) {
		run_spec_done(&spec);
		v = WRONG;
	}
	if (v == READY && run_start(job, &spec, &err) < 0)
		v = WRONG;
	/* OPEN: the earlier server accepted the job at close(2), and the release of that
	 * file has not come. The kernel sends the release to this server, which then starts
	 * the job. If the earlier server died during the release, it is sent again. */
	if (v == OPEN) {
		submit_accept_again(job);
		return;
	}
	if (v == ABSENT)
		err_set(&err, -EINVAL, "its program or its inputs are gone");
	if (v != READY) {
		err_wrap(&err, SUBMIT_ACCEPTED_BEFORE);
		run_reject(job, err.text);
	}
}

static void get_ready(struct job *job)
{
	struct node *node;

	node_load_all(job->files);
	node = parsed_config_node(job);
	if (node && !node->writers)
		parsed_config_prepare(job, node);
}

void submit_evaluate_now(struct job *job, bool config_closed)
{
	if (!job->removed && !job_is_frozen(job))
		get_ready(job);
	submit_evaluate(job, config_closed);
}
