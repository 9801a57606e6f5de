/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The users of the scheduler, their accounts, and their waiting runs in order: a user has
 * levels by priority, a level has slots by age. On the loop's thread.
 */
#include "sched_int.h"

#include <errno.h>
#include <stdlib.h>

#include "fsd/users/quota.h"

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
	list_add_tail(&s->every, &u->every);
	list_init(&u->levels);
	return u;
}

uint64_t sched_account(const struct sched_user *u, uint64_t now)
{
	return u->served_ns + u->has.machines * (now + ADVANCE_NS) - u->since_sum;
}

uint64_t sched_served(const struct sched_user *u, uint64_t now)
{
	return sched_account(u, now) - u->has.machines * ADVANCE_NS;
}

/* Called when the user has a waiting run again: sets its account as sched.h says of a
 * user who returns. */
static void user_begin(struct sched *s, struct sched_user *u)
{
	uint64_t served;

	if (u->waiting)
		return;
	list_add_tail(&s->users, &u->node);
	if (u->has.machines > u->kept.machines)
		return; /* a run of it is running: it has not been absent */
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
	list_add_tail(at, &l->node); /* insert it before the first level of lower
				      * priority */
	return l;
}

/* --- waiting ------------------------------------------------------------ */

/* True if a, which an earlier server accepted, stands before b in a level. */
static bool is_before(const struct sched_slot *a, const struct sched_slot *b)
{
	return !b->old || a->old < b->old;
}

static struct sched_slot *slot_at(struct list *pos)
{
	return list_entry(pos, struct sched_slot, node);
}

/* Return: the list node behind which the slot belongs. Slots with `old` set (accepted by
 * an earlier server) come first, in the order of their acceptance. */
static struct list *place_in(struct sched_level *l, struct sched_slot *slot)
{
	struct list *at = l->old_end;

	if (!slot->old)
		return l->slots.prev;
	while (at != &l->slots && is_before(slot, slot_at(at)))
		at = at->prev;
	return at;
}

int sched_level_in(struct sched_slot *slot, bool front)
{
	struct sched_level *l = level_of(slot->user, slot->priority);
	struct list *at;

	if (!l)
		return -ENOMEM;
	at = front ? &l->slots : place_in(l, slot);
	slot->level = l;
	list_add(at, &slot->node);
	if (slot->old && at == l->old_end)
		l->old_end = &slot->node;
	return 0;
}

void sched_level_out(struct sched_slot *slot)
{
	struct sched_level *l = take_ptr(slot->level);

	if (!l)
		return;
	if (l->old_end == &slot->node)
		l->old_end = slot->node.prev;
	list_del(&slot->node);
	if (!list_empty(&l->slots))
		return;
	list_del(&l->node);
	free(l);
}

int sched_wait_in(struct sched *s, struct sched_slot *slot, bool front)
{
	struct sched_user *u = slot->user;

	if (sched_level_in(slot, front) < 0)
		return -ENOMEM;
	user_begin(s, u);
	slot->waits = true;
	slot->since_ns = slot->since_ns ? slot->since_ns : s->host.now();
	u->waiting++;
	s->waiting++;
	quota_count_waiting(u->quota, 1);
	return 0;
}

void sched_wait_out(struct sched *s, struct sched_slot *slot)
{
	struct sched_user *u = slot->user;

	sched_level_out(slot);
	slot->waits = false;
	s->waiting--;
	quota_count_waiting(u->quota, -1);
	if (!--u->waiting)
		list_del(&u->node);
	if (s->blocked == slot)
		s->blocked = NULL;
}
