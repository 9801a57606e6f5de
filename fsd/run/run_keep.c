/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input of a job that is queued or runs can be removed: rm -r has to get past
 * it. The run has it all the same, since all inputs are held before one goes.
 * Who comes later, another daemon or another attempt, would not have it and not
 * know: that it has gone is on record before it goes.
 */
#include <string.h>

#include "fsd/handover/fdstore.h"
#include "run_int.h"

static bool is_config(const struct job *job, const struct node *node)
{
	return node->parent == job->files && !strcmp(node->name, "config.json");
}

/* Who takes up a job without its program says so. */
static bool is_without_program(const struct run *run, const struct node *going)
{
	const struct node *code = run->spec.code;

	return code && (code == going || code->unlinked);
}

/* It may be looked for again, and it would not be known that it was there. */
static bool is_missed(const struct job *job, const struct node *node)
{
	const struct job_meta *m = &job->meta;
	const struct run *run = job->run;

	if (m->attempt <= m->retry)
		return true;
	if (run && is_without_program(run, node))
		return false;
	return m->state == JOB_QUEUED || (run && !run_has_started(run));
}

/* On the stack of the fiber that waits. */
struct note {
	struct depot *depot;
	uint64_t no, queued_no;
};

static int do_note(void *arg)
{
	const struct note *n = arg;

	return depot_gone_note(n->depot, n->no, n->queued_no);
}

static int do_look(void *arg)
{
	const struct note *n = arg;

	return depot_gone(n->depot, n->no, n->queued_no);
}

static bool is_noted(const struct job *job)
{
	return job->gone.no && job->gone.no == job->meta.queued_no;
}

static int note_gone(struct job *job, const struct node *node)
{
	struct note n = { job->d->depot, job->meta.no, job->meta.queued_no };
	bool noted = is_noted(job);
	int r = noted ? 0 : depot_do(n.depot, do_note, &n);

	if (r < 0)
		return r;
	job->gone.inputs = (noted && job->gone.inputs) || !is_config(job, node);
	job->gone.no = n.queued_no;
	return 0;
}

int run_keep_inputs(struct job *job, const struct node *node)
{
	struct run *run;

	/* A swap file is for its editor. */
	if (!job_is_frozen(job) || (!node->is_dir && file_is_swap(node->name)))
		return 0;
	/* Others have their turns, and one may end it. config.json was read. */
	while (!is_config(job, node) && (run = job->run) &&
	       !run_is_ending(run)) {
		run->keeps = true;
		if (run->collected)
			break;
		run_collect_more(run);
		if (fiber_self())
			fiber_breathe();
	}
	return is_missed(job, node) ? note_gone(job, node) : 0;
}

bool run_has_inputs(struct job *job, struct err *err)
{
	return (is_noted(job) && !job->gone.inputs) ||
	       run_check_inputs(job, err) == 0;
}

int run_check_inputs(struct job *job, struct err *err)
{
	struct note n = { job->d->depot, job->meta.no, job->meta.queued_no };
	int r = is_noted(job) ? 1 : depot_do(n.depot, do_look, &n);

	if (r > 0 && !is_noted(job)) {
		job->gone.no = n.queued_no;
		job->gone.inputs = true; /* or the config alone: who knows */
	}
	if (r < 0)
		return err_sys(err, r, "whether inputs of it were removed "
			       "cannot be read");
	return r ? err_set(err, -ENOENT, "inputs of it were removed after it "
			   "was accepted, and what held them has ended")
		 : 0;
}
