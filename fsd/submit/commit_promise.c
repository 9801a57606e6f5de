/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a close promises. The release of the file, which starts the job, comes
 * a moment after close(2) has returned.
 */
#include "commit_int.h"

#include <errno.h>
#include <string.h>

#include "fsd/jobs/event.h"
#include "fsd/jobs/unstored.h"

/* On the stack of the fiber that waits. */
struct promise {
	struct depot *depot;
	struct job_meta meta;
	struct buf unstored;
};

static int do_promise(void *arg)
{
	struct promise *p = arg;
	int r = depot_sync_inputs(p->depot, p->meta.no, &p->unstored);

	return r < 0 ? r : depot_meta_commit(p->depot, &p->meta);
}

static bool is_config(const struct job *job, const struct node *node)
{
	return node->parent == job->files && !strcmp(node->name, "config.json");
}

int commit_answer(const struct job *job)
{
	return job->meta.state == JOB_REFUSED ? job->submit.failure : 0;
}

/* It may be a duplicate that is closed, and what it is opened for is to come:
 * only its release tells that it stays empty. */
static bool is_empty_config(struct job *job, struct node *node)
{
	struct parsed *p = is_config(job, node) ? parsed_get(job, node) : NULL;
	bool empty = p && p->empty;

	parsed_unref(p);
	return empty;
}

int commit_would_start(struct job *job, struct node *node)
{
	struct run_spec spec = {0};
	struct err err = {0};
	enum verdict v;

	if (job->removed || job_is_frozen(job) || job->submit.later ||
	    job_name_is_draft(job->meta.name) ||
	    (job->meta.state == JOB_DONE && !is_config(job, node)))
		return 0;
	node_load_all(job->files);
	if (is_empty_config(job, node))
		return 0;
	v = commit_look(job, false, node, &spec, &err);
	if (v == READY && unstored_check(job, &err) < 0)
		v = FAILED;
	if (v == READY)
		v = commit_check_room(job, spec.config, &err);
	if (v == READY)
		commit_keep_ready(job, node, &spec);
	run_spec_done(&spec);
	if (v != FAILED)
		return v == READY;
	commit_refuse(job, v, &err);
	return job->submit.failure;
}

int commit_promise(struct job *job, uint64_t by)
{
	struct promise p = {.depot = job->d->depot, .meta = job->meta};
	struct err err = {0};
	int r;

	job_fill_promised(job, depot_next_no(job->d->depot), &p.meta);
	commit_keep_place(job);
	r = depot_do(job->d->depot, do_promise, &p);
	if (p.unstored.len || p.unstored.failed)
		unstored_note(job, &p.unstored);
	buf_done(&p.unstored);
	if (r == 0)
		job_promise(job, by, p.meta.queued_no);
	if (r < 0) {
		err_sys(&err, r,
			"the job cannot be stored in the state "
			"directory %s",
			depot_dir(job->d->depot));
		commit_give_place(job);
		commit_refuse(job, FAILED, &err);
	}
	return r;
}

void commit_promise_again(struct job *job)
{
	const struct node *config = parsed_node(job);

	/* A finished job is asked for by its config; what else is closed counts
	 * when that was before. */
	job_take_back(job, !config || !config->writers);
	job_promise(job, 0, job->meta.queued_no);
	commit_keep_place(job);
}

void commit_keep_place(struct job *job)
{
	if (!job->removed && !job_is_frozen(job))
		sched_keep_place(job->d->sched, job->meta.uid, &job->submit.place);
}

void commit_give_place(struct job *job)
{
	if (!job->accept.promised)
		sched_give_place(&job->submit.place);
}

void commit_settle(struct job *job)
{
	int r;

	commit_forget_ready(job);
	if (!job->accept.promised || job->removed || job_is_frozen(job) ||
	    depot_read_only(job->d->depot))
		return;
	job_unpromise(job);
	commit_give_place(job);
	r = depot_meta_write(job->d->depot, &job->meta);
	if (r < 0)
		log_warn("job %s: the next start of fsd runs it, since its state "
			 "cannot be written: %s", job->meta.name, strerror(-r));
}
