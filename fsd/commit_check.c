/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said of a change before it is made: answers of FLUSH, RENAME. */
#include "commit_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "sched_open.h"

static int precheck_config(struct job *job, struct node *node, bool last)
{
	struct parsed *p = parsed_get(job, node);
	struct stat st;
	int r = p ? p->result : 0;

	/* Nothing at all is what a tool that opens and closes leaves. */
	if (r == -ENODATA && last && node_stat(node, &st) == 0 && st.st_size)
		r = -EINVAL;
	if (r != -EINVAL && r != -EFBIG)
		r = 0;
	if (r < 0)
		face_set_error(job->d, job->meta.uid, job->meta.name,
			       p->err.text);
	parsed_unref(p);
	return r;
}

/* Would this start the job? commit_examine() may be slow then, and is not
 * called. */
static bool starts_it(struct job *job, const struct node *node)
{
	bool config = node && !strcmp(node->name, "config.json");

	return !job_is_frozen(job) && !job->later &&
	       (config || job->meta.state != JOB_DONE);
}

/* Whoever closes the last file of a job is told that the queue is full, as far
 * as it can be seen before it is closed. */
static int precheck_room(struct job *job, struct node *node)
{
	struct run_spec spec = {0};
	struct err full = {0}, err = {0};
	enum verdict v;

	if (!starts_it(job, node) || job_name_is_draft(job->meta.name) ||
	    node->writers != 1 || !sched_is_full(job->d, job->meta.uid, &full))
		return 0;
	node->writers--; /* as it will be */
	v = commit_examine(job, false, &spec, &err);
	node->writers++;
	if (v != READY)
		return 0;
	run_spec_done(&spec);
	face_set_error(job->d, job->meta.uid, job->meta.name, full.text);
	return -EAGAIN;
}

static int precheck_code(const struct node *node)
{
	struct stat st;

	return node_stat(node, &st) == 0 && st.st_size > (off_t)LIMIT_CODE_BYTES
		       ? -EFBIG
		       : 0;
}

int commit_precheck(struct job *job, struct node *node, bool last)
{
	int r = 0;

	if (node->is_dir)
		return 0;
	if (node->parent == job->files && !strcmp(node->name, "config.json"))
		r = precheck_config(job, node, last);
	else if (node->parent == job->files && code_kind(node->name) != CODE_NO)
		r = precheck_code(node);
	return r == 0 && last ? precheck_room(job, node) : r;
}

int commit_precheck_submit(struct job *job, const char *to, struct err *err)
{
	struct run_spec spec = {0};
	struct err wrong = {0};

	if (!job_name_is_draft(job->meta.name) || job_name_is_draft(to) ||
	    !starts_it(job, NULL) ||
	    !sched_is_full(job->d, job->meta.uid, err) ||
	    commit_examine(job, false, &spec, &wrong) != READY)
		return 0;
	run_spec_done(&spec);
	return -EAGAIN;
}

int commit_precheck_config(struct job *job, struct node *node, struct err *err)
{
	struct node *code;
	struct err wrong = {0};
	struct parsed *p;
	bool starts;

	if (node->writers || job->later || job_is_frozen(job) ||
	    job_name_is_draft(job->meta.name) || parsed_is_slow(job, node) ||
	    node_load(job->files) < 0 || !sched_is_full(job->d, job->meta.uid, err))
		return 0;
	p = parsed_get(job, node);
	starts = p && p->result == 0 && !p->config.manual &&
		 commit_find_code(job, &p->config, &code, &wrong) == READY &&
		 commit_check_inputs(job, &p->config, &wrong) == READY;
	parsed_unref(p);
	return starts ? -EAGAIN : 0;
}

bool commit_precheck_is_slow(struct job *job, struct node *node)
{
	return node->parent == job->files && !node->is_dir &&
	       !strcmp(node->name, "config.json") && parsed_is_slow(job, node);
}
