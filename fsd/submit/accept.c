/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acceptance at close(2): examines the job before close(2) returns, and writes it to the
 * disk as queued. The release of the file, which starts the job, comes after close(2) has
 * returned. do_promise() runs on a thread for the disk, the rest on the loop's thread.
 */
#include "submit_int.h"

#include <errno.h>
#include <string.h>

#include "fsd/jobs/job_state.h"
#include "fsd/jobs/unsynced_inputs.h"

/* The argument of do_promise(), on the stack of the fiber that waits. */
struct promise {
	struct store *store;
	struct job_meta meta;
	struct buf unsynced;
};

static int do_promise(void *arg)
{
	struct promise *p = arg;
	int r = store_sync_inputs(p->store, p->meta.no, &p->unsynced);

	return r < 0 ? r : store_meta_commit(p->store, &p->meta);
}

static bool is_config(const struct job *job, const struct node *node)
{
	return node->parent == job->files && !strcmp(node->name, "config.json");
}

int submit_answer(const struct job *job)
{
	return job->meta.state == JOB_REFUSED ? job->submit.failure : 0;
}

/* True for an empty config.json. The closed descriptor may be a duplicate (a shell opens
 * the file, then its child writes), so only the release tells that it stays empty. */
static bool is_empty_config(struct job *job, struct node *node)
{
	struct parsed_config *p = is_config(job, node) ? parsed_config_get(job, node) : NULL;
	bool empty = p && p->empty;

	parsed_config_unref(p);
	return empty;
}

int submit_would_start(struct job *job, struct node *node)
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
	v = submit_examine_contents(job, false, node, &spec, &err);
	if (v == READY && unsynced_check(job, &err) < 0)
		v = FAILED;
	if (v == READY)
		v = submit_check_limits(job, spec.config, &err);
	if (v == READY)
		submit_keep_ready(job, node, &spec);
	run_spec_done(&spec);
	if (v != FAILED)
		return v == READY;
	submit_refuse(job, v, &err);
	return job->submit.failure;
}

int submit_accept(struct job *job, uint64_t by)
{
	struct promise p = {.store = job->d->store, .meta = job->meta};
	struct err err = {0};
	int r;

	job_fill_promised(job, store_next_no(job->d->store), &p.meta);
	submit_keep_place(job);
	r = store_do(job->d->store, do_promise, &p);
	if (p.unsynced.len || p.unsynced.failed)
		unsynced_note(job, &p.unsynced);
	buf_done(&p.unsynced);
	if (r == 0)
		job_promise(job, by, p.meta.queued_no);
	if (r < 0) {
		err_sys(&err, r,
			"the job cannot be stored in the state "
			"directory %s",
			store_dir(job->d->store));
		submit_give_place(job);
		submit_refuse(job, FAILED, &err);
	}
	return r;
}

void submit_accept_again(struct job *job)
{
	const struct node *config = parsed_config_node(job);

	/* A finished job runs again only after its config.json was closed. If config.json
	 * has no writer now, it was closed, so the job was a draft again. */
	job_take_back(job, !config || !config->writers);
	job_promise(job, 0, job->meta.queued_no);
	submit_keep_place(job);
}

void submit_keep_place(struct job *job)
{
	if (!job->removed && !job_is_frozen(job))
		sched_keep_place(job->d->sched, job->meta.uid, &job->submit.place);
}

void submit_give_place(struct job *job)
{
	if (!job->accept.promised)
		sched_give_place(&job->submit.place);
}

void submit_after_release(struct job *job)
{
	int r;

	submit_forget_ready(job);
	if (!job->accept.promised || job->removed || job_is_frozen(job) ||
	    store_read_only(job->d->store))
		return;
	job_unpromise(job);
	submit_give_place(job);
	r = store_meta_write(job->d->store, &job->meta);
	if (r < 0)
		log_warn("job %s: the next start of fsd runs it, since its state "
			 "cannot be written: %s", job->meta.name, strerror(-r));
}
