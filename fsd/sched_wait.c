/* SPDX-License-Identifier: Apache-2.0 */
/* The users, what each has been served, and their runs that wait, in order. */
#include "sched_int.h"

#include <errno.h>
#include <stdlib.h>

#include "quota.h"

/* --- users -------------------------------------------------------------- */

struct sched_user *sched_user_of(struct sched *s, uid_t uid)
{
	struct hash_node *h = hash_first(&s->by_uid, hash_u64(uid));
	struct sched_user *u;

	for (; h; h = hash_next(h)) {
		u = container_of(h, struct sched_user, by_uid);
		if (u->uid == uid)
			return u;
	}
	u = calloc(1, sizeof(*u));
	if (!u || hash_add(&s->by_uid, &u->by_uid, hash_u64(uid)) < 0) {
		free(u);
		return NULL;
	}
	u->uid = uid;
	u->quota = quota_user(s->quota, uid);
	list_init(&u->steps);
	list_init(&u->levels);
	return u;
}

uint64_t sched_account(const struct sched_user *u, uint64_t now)
{
	return u->served_ns + u->holds * (now + ADVANCE_NS) - u->since_sum;
}

uint64_t sched_served(const struct sched_user *u, uint64_t now)
{
	return sched_account(u, now) - u->holds * ADVANCE_NS;
}

/* It has something to do again. */
static void user_begin(struct sched *s, struct sched_user *u)
{
	uint64_t served;

	if (u->waiting)
		return;
	list_add_tail(&s->users, &u->node);
	if (u->holds > u->sessions)
		return; /* it has not been away */
	served = sched_served(u, s->host.now());
	u->served_ns -= served;
	served = MAX(served, s->floor_ns);
	u->served_ns += MIN(served, s->floor_ns + DEBT_NS);
}

static struct sched_level *level_of(struct sched_user *u, int priority)
{
	struct list *at = &u->levels;
	struct sched_level *l;

	list_for_each (pos, tmp, &u->levels) {
		l = list_entry(pos, struct sched_level, node);
		if (l->priority == priority)
			return l;
		at = pos;
		if (l->priority < priority)
			break;
		at = &u->levels;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->priority = priority;
	list_init(&l->slots);
	l->old_end = &l->slots;
	list_add_tail(at, &l->node); /* before the first lower one */
	return l;
}

struct sched_slot *sched_head_of(const struct sched_user *u)
{
	const struct sched_level *l =
		list_first(&u->levels, struct sched_level, node);

	return l ? list_first(&l->slots, struct sched_slot, node) : NULL;
}

/* --- waiting ------------------------------------------------------------ */

bool sched_is_living(struct sched_slot *slot)
{
	return slot->session && slot->ops->has_machine(slot);
}

static void put_in(struct list *list, struct sched_slot *slot, bool front)
{
	struct sched_level *l = slot->level;

	if (front)
		list_add(list, &slot->node);
	else if (l && slot->old)
		list_add(l->old_end, &slot->node);
	else
		list_add_tail(list, &slot->node);
	if (l && slot->old && (!front || l->old_end == &l->slots))
		l->old_end = &slot->node;
}

int sched_wait_in(struct sched *s, struct sched_slot *slot, bool front)
{
	struct sched_user *u = slot->user;
	bool step = sched_is_living(slot) && !u->queued_steps;
	struct list *list = &u->steps;

	slot->level = step ? NULL : level_of(u, slot->priority);
	if (!step && !slot->level)
		return -ENOMEM;
	if (slot->level)
		list = &slot->level->slots;
	user_begin(s, u);
	put_in(list, slot, front);
	if (slot->line)
		sched_line_wait(slot, front);
	slot->waits = true;
	u->queued_steps += slot->level && slot->line;
	u->waiting++;
	s->waiting++;
	quota_count_waiting(u->quota, 1);
	return 0;
}

void sched_wait_out(struct sched *s, struct sched_slot *slot)
{
	struct sched_user *u = slot->user;
	struct sched_level *l = slot->level;

	if (l && l->old_end == &slot->node)
		l->old_end = slot->node.prev;
	list_del(&slot->node);
	list_del(&slot->in_line);
	slot->waits = false;
	slot->level = NULL;
	u->queued_steps -= l && slot->line;
	if (l && list_empty(&l->slots)) {
		list_del(&l->node);
		free(l);
	}
	s->waiting--;
	quota_count_waiting(u->quota, -1);
	if (!--u->waiting)
		list_del(&u->node);
	if (s->blocked == slot)
		s->blocked = NULL;
}
