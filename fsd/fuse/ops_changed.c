/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports changes of a job's files to submit/, and replies once the job was
 * examined. Owns the waiting replies. All functions run on the loop, in a
 * fiber.
 */
#include "ops_refusal.h"

#include <string.h>

#include "fsd/base/fiber.h"
#include "fsd/submit/submit.h"
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
	submit_evaluate(job, node && node->parent == job->files &&
				     !strcmp(node->name, "config.json"));
}

struct changed_reply {
	struct submit_wait wait;
	fuse_req_t req;
	struct job *job; /* owns a reference */
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

static void on_looked_at(struct submit_wait *w)
{
	struct changed_reply *c = container_of(w, struct changed_reply, wait);

	reply_changed(c->req, 0, c->with_stat ? &c->st : NULL);
	job_unref(c->job);
	free(c);
}

void ops_reply_changed(fuse_req_t req, struct job *job, int r,
		       const struct stat *st)
{
	struct changed_reply *c = r == 0 && job ? calloc(1, sizeof(*c)) : NULL;

	if (c) {
		*c = (struct changed_reply){
			.wait.done = on_looked_at, .req = req, .job = job,
			.with_stat = st, .st = st ? *st : (struct stat){ 0 },
		};
		if (submit_wait(job, &c->wait)) {
			job_ref(job);
			return;
		}
		free(c);
	}
	reply_changed(req, r, st);
}

struct settled {
	struct submit_wait wait;
	struct fiber *fiber;
};

static void on_settled(struct submit_wait *w)
{
	fiber_wake(container_of(w, struct settled, wait)->fiber);
}

bool ops_await_settled(struct job *job)
{
	struct settled s = { .wait.done = on_settled, .fiber = fiber_self() };

	if (!s.fiber || !job || !submit_wait(job, &s.wait))
		return false;
	jobs_let_go();
	fiber_pause();
	return true;
}
