/* SPDX-License-Identifier: Apache-2.0 */
/* Counts places in the queue that are kept for runs whose acceptance is being stored. On
 * the loop's thread. */
#include "sched_int.h"

void sched_keep_place(struct sched *s, uid_t uid, struct sched_place *p)
{
	if (p->sched)
		return;
	*p = (struct sched_place){ .sched = s, .user = sched_user_of(s, uid) };
	s->coming++;
	if (p->user)
		p->user->coming++;
}

void sched_give_place(struct sched_place *p)
{
	if (!p->sched)
		return;
	p->sched->coming--;
	if (p->user)
		p->user->coming--;
	*p = (struct sched_place){ 0 };
}
