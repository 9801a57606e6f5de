/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and frees the state of this room. draft.c and restart.c own its members: the
 * drafts that changed lately, and the time slice that tidies after a start. A removed job
 * is taken out of them here. On the loop's thread.
 */
#include "submit_state_int.h"

#include <errno.h>
#include <stdlib.h>

#include "submit_int.h"

int submit_new(struct fsd *d, struct submit **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->d = d;
	list_init(&(*ret)->drafts);
	return 0;
}

void submit_free(struct submit *s)
{
	if (!s)
		return;
	loop_timer_del(&s->quiet);
	free(s);
}

/* Drops what this room holds for a job that is removed, or that stays in the store when
 * the server ends. In the second case a job that was accepted at close(2) is not lost:
 * its record says `queued`, so the next server starts it. */
static void on_gone(struct job *job)
{
	sched_give_place(&job->submit.place);
	list_del(&job->submit.draft);
	submit_forget_ready(job);
}

const struct job_watcher submit_watcher = {
	.removed = on_gone,
	.unloaded = on_gone,
};
