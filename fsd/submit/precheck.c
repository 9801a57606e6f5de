/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a change before it is made, so that close(2) or rename(2) can fail with a
 * sentence. For FLUSH and RENAME; on the loop's thread. */
#include "submit_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "fsd/run/run_network.h"
#include "fsd/run/sched_open.h"
#include "fsd/users/last_error.h"
#include "fsd/jobs/lifecycle.h"

/* Checks whether new jobs may start now. Return: 0, or -EROFS or -ESHUTDOWN with a
 * sentence. */
static int check_open(const struct job *job, struct err *err)
{
	const char *read_only = store_read_only(job->d->store);

	if (read_only)
		return err_set(err, -EROFS, "%s", read_only);
	if (!lifecycle_is_draining(job->d->lifecycle) || job->accept.promised)
		return 0;
	return err_set(err, -ESHUTDOWN,
		       lifecycle_is_stopping(job->d->lifecycle)
			       ? "fsd is about to end: this was not accepted; "
				 "after the next fsd mount do it again, or "
				 "write start to ctl"
			       : "fsd is draining: this was not accepted; when "
				 "resume was written to .fsd/ctl, do it again, "
				 "or write start to ctl");
}

enum verdict submit_check_limits(struct job *job, const struct job_config *config,
				 struct err *err)
{
	int r = check_open(job, err);

	/* A run in a sandbox does not wait in the queue. */
	if (r == 0 && !config->sandbox)
		r = sched_check_job(job, config, err);
	return verdict_of(r);
}

/* Checks the result of parsing, and whether the operator allows the network that the
 * config asks for. p: may be NULL. Return: 0, or negative errno with a sentence. */
static int check_parsed(const struct job *job, const struct parsed_config *p,
			struct err *err)
{
	if (!p || p->result == 0)
		return p ? run_check_network(job->d, job->meta.uid, &p->config, err) : 0;
	*err = *p->err;
	return p->result;
}

static int precheck_config(struct job *job, struct node *node, bool last)
{
	struct parsed_config *p = parsed_config_get(job, node);
	struct err err = { 0 };
	int r = check_parsed(job, p, &err);

	/* bash closes a duplicate before it writes: an empty file is not wrong yet. */
	if (r == -ENODATA && last && !p->empty)
		r = -EINVAL;
	if (r != -EINVAL && r != -EFBIG)
		r = 0;
	if (r < 0)
		last_error_set(job->d->users, job->meta.uid, job->meta.name,
			       err.text);
	parsed_config_unref(p);
	return r;
}

static int precheck_code(struct job *job, const struct node *node)
{
	struct err err;
	struct stat st;

	if (node_stat(node, &st) < 0 || st.st_size <= (off_t)LIMIT_CODE_BYTES)
		return 0;
	submit_code_too_large(node, &err);
	last_error_set(job->d->users, job->meta.uid, job->meta.name, err.text);
	return err.code;
}

int submit_judge(struct job *job, struct node *node, struct err *err)
{
	struct parsed_config *p;
	int r;

	if (job->removed || job_is_frozen(job) || job->submit.later)
		return 0;
	p = parsed_config_get(job, node);
	r = check_parsed(job, p, err);
	if (r == -EINVAL || r == -EFBIG)
		submit_refuse(job, WRONG, err);
	else
		r = 0;
	parsed_config_unref(p);
	return r;
}

int submit_precheck(struct job *job, struct node *node, bool last)
{
	if (node->is_dir || node->parent != job->files)
		return 0;
	if (!strcmp(node->name, "config.json"))
		return precheck_config(job, node, last);
	return code_kind(node->name) != CODE_NO ? precheck_code(job, node) : 0;
}

/* Keeps a place in the queue while the disk does the rename, so that no other job takes it.
 * Return: 0; negative errno with a sentence: no place, or no new job starts. */
static int keep_place(struct job *job, struct err *err)
{
	int r = check_open(job, err);

	if (r < 0)
		return r;
	if (sched_is_full(job->d, job->meta.uid, err))
		return -EAGAIN;
	submit_keep_place(job);
	return 0;
}

int submit_precheck_submit(struct job *job, const char *to, struct err *err)
{
	struct run_spec spec = {0};
	struct err wrong = {0};
	int r;

	/* While an examination is deferred, submit_examine() would block. */
	if (!job_name_is_draft(job->meta.name) || job_name_is_draft(to) ||
	    job_is_frozen(job) || job->submit.later || job->meta.state == JOB_DONE)
		return 0;
	r = keep_place(job, err);
	if (r == 0 || submit_examine(job, false, &spec, &wrong) != READY)
		return 0;
	if (spec.config->sandbox && r == -EAGAIN)
		r = 0;
	run_spec_done(&spec);
	return r;
}

int submit_precheck_config(struct job *job, struct node *node, struct err *err)
{
	struct node *code;
	struct err wrong = {0};
	struct parsed_config *p;
	bool starts;
	int r;

	if (node->writers || job->submit.later || job_is_frozen(job) ||
	    job_name_is_draft(job->meta.name))
		return 0;
	r = keep_place(job, err);
	if (r == 0 || parsed_config_is_slow(job, node) || node_load(job->files) < 0)
		return 0;
	p = parsed_closed(job, node);
	starts = p && p->result == 0 && !p->config.manual &&
		 !(p->config.sandbox && r == -EAGAIN) &&
		 submit_find_code(job, &p->config, NULL, &code, &wrong) ==
			 READY &&
		 submit_check_inputs(job, &p->config, NULL, &wrong) == READY;
	parsed_config_unref(p);
	return starts ? r : 0;
}

bool submit_precheck_is_slow(struct job *job, struct node *node)
{
	return node->parent == job->files && !node->is_dir &&
	       !strcmp(node->name, "config.json") && parsed_config_is_slow(job, node);
}
