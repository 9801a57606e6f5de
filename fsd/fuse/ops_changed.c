/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of a job's files comes to, and the answer that waits for it. */
#include "ops_refusal.h"

#include <string.h>

#include "fsd/submit/commit.h"
#include "fsd/submit/draft.h"

void ops_touched(struct job *job)
{
	job_touch(job);
	draft_changed(job);
}

void ops_changed(struct job *job, const struct node *node)
{
	if (!job || job->removed)
		return;
	job_touch(job);
	commit_evaluate(job, node && node->parent == job->files &&
				     !strcmp(node->name, "config.json"));
}

struct changed_reply {
	struct commit_wait wait;
	fuse_req_t req;
	struct job *job;  /* a reference */
	bool starts;      /* who asks is told whether it started */
	bool with_stat;
	struct stat st;
};

static void reply_changed(fuse_req_t req, int r, const struct stat *st)
{
	if (r == 0 && st)
		fuse_reply_attr(req, st, 0.0);
	else
		ops_answer(req, r);
}

static void on_looked_at(struct commit_wait *w)
{
	struct changed_reply *c = container_of(w, struct changed_reply, wait);
	int r = c->starts && !c->job->removed ? commit_answer(c->job) : 0;

	reply_changed(c->req, r, c->with_stat ? &c->st : NULL);
	job_unref(c->job);
	free(c);
}

static void reply(fuse_req_t req, struct job *job, int r,
		  const struct stat *st, bool starts)
{
	struct changed_reply *c = r == 0 && job ? calloc(1, sizeof(*c)) : NULL;

	if (c) {
		*c = (struct changed_reply){
			.wait.done = on_looked_at, .req = req, .job = job,
			.starts = starts,
			.with_stat = st, .st = st ? *st : (struct stat){ 0 },
		};
		if (commit_wait(job, &c->wait)) {
			job_ref(job);
			return;
		}
		free(c);
	}
	reply_changed(req, r, st);
}

void ops_reply_changed(fuse_req_t req, struct job *job, int r,
		       const struct stat *st)
{
	reply(req, job, r, st, false);
}

void ops_reply_renamed(fuse_req_t req, struct job *job, int r)
{
	reply(req, job, r, NULL, true);
}
