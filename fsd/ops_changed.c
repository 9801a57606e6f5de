/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of a job's files comes to, and the answer that waits for it. */
#include "ops.h"

#include <string.h>

#include "commit.h"

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
	int code;       /* negative errno */
	bool with_stat;
	struct stat st;
};

static void reply_changed(fuse_req_t req, int r, const struct stat *st)
{
	if (r == 0 && st)
		fuse_reply_attr(req, st, 0.0);
	else
		fuse_reply_err(req, -r);
}

static void on_looked_at(struct commit_wait *w)
{
	struct changed_reply *c = container_of(w, struct changed_reply, wait);

	reply_changed(c->req, c->code, c->with_stat ? &c->st : NULL);
	free(c);
}

void ops_reply_changed(fuse_req_t req, struct job *job, int r,
		       const struct stat *st)
{
	struct changed_reply *c = r == 0 && job ? calloc(1, sizeof(*c)) : NULL;

	if (c) {
		*c = (struct changed_reply){
			.wait.done = on_looked_at, .req = req,
			.with_stat = st, .st = st ? *st : (struct stat){ 0 },
		};
		if (commit_wait(job, &c->wait))
			return;
		free(c);
	}
	reply_changed(req, r, st);
}
