/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of each session, one behind the other. */
#include "sched_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(uid_t uid, const char *session)
{
	return hash_text(session, hash_u64(uid));
}

static struct sched_line *find(struct sched *s, uid_t uid, const char *session)
{
	struct hash_node *h = hash_first(&s->lines, hash_of(uid, session));

	for (; h; h = hash_next(h)) {
		struct sched_line *l =
			container_of(h, struct sched_line, by_name);

		if (l->uid == uid && !strcmp(l->session, session))
			return l;
	}
	return NULL;
}

static struct sched_line *line_of(struct sched *s, uid_t uid,
				  const char *session)
{
	struct sched_line *l = find(s, uid, session);
	size_t size = strlen(session) + 1;

	if (l)
		return l;
	l = calloc(1, sizeof(*l) + size);
	if (!l || hash_add(&s->lines, &l->by_name,
			   hash_of(uid, session)) < 0) {
		free(l);
		return NULL;
	}
	l->uid = uid;
	memcpy(l->session, session, size);
	list_init(&l->waiting);
	return l;
}

int sched_line_enter(struct sched_slot *slot)
{
	slot->line = NULL;
	if (!slot->session)
		return 0;
	slot->line = line_of(slot->sched, slot->uid, slot->session);
	if (!slot->line)
		return -ENOMEM;
	slot->line->slots++;
	return 0;
}

void sched_line_leave(struct sched_slot *slot)
{
	struct sched_line *l = take_ptr(slot->line);

	if (!l)
		return;
	if (l->coming == slot)
		l->coming = NULL;
	if (--l->slots)
		return;
	hash_del(&slot->sched->lines, &l->by_name);
	free(l);
}

static struct sched_slot *first_of(const struct sched_line *l)
{
	return list_first(&l->waiting, struct sched_slot, in_line);
}

/* None of it is in the levels. */
static void stand_beside(struct sched_line *l, struct sched_user *u)
{
	l->lives = true;
	list_add_tail(&u->living, &l->node);
}

/* Its first one is in the levels. Without memory it is beside them, and at the
 * next look is taken for one whose session lives no more. */
static void stand_in(struct sched_line *l, struct sched_slot *behind,
		     bool front)
{
	struct sched_slot *first = first_of(l);

	if (sched_level_in(first, behind, front) < 0)
		stand_beside(l, first->user);
}

/* Old ones in their order before all others, as in a level. */
static struct list *place_in(struct sched_line *l, const struct sched_slot *slot)
{
	struct list *at = &l->waiting;

	while (slot->old && at->prev != &l->waiting) {
		const struct sched_slot *prev =
			list_entry(at->prev, struct sched_slot, in_line);

		if (prev->old && prev->old < slot->old)
			break;
		at = at->prev;
	}
	return at;
}

void sched_line_wait(struct sched_slot *slot, bool front)
{
	struct sched_line *l = slot->line;
	struct sched_slot *first;

	sched_line_look(slot);
	first = first_of(l);
	list_add_tail(front ? l->waiting.next : place_in(l, slot),
		      &slot->in_line);
	if (l->lives || first_of(l) != slot)
		return;
	if (first)
		sched_level_out(first);
	stand_in(l, NULL, front);
}

void sched_line_wait_out(struct sched_slot *slot)
{
	struct sched_line *l = slot->line;

	list_del(&slot->in_line);
	if (list_empty(&l->waiting)) {
		list_del(&l->node);
		l->lives = false;
	} else if (slot->level) {
		stand_in(l, slot, false);
	}
}

void sched_line_look(struct sched_slot *slot)
{
	struct sched_line *l = slot->line;
	struct sched_slot *first = first_of(l);

	if (l->lives || !sched_is_living(slot))
		return;
	if (first)
		sched_level_out(first);
	stand_beside(l, slot->user);
}

int sched_line_lost(struct sched_line *l)
{
	int r = sched_level_in(first_of(l), NULL, true);

	if (r < 0)
		return r;
	list_del(&l->node);
	l->lives = false;
	return 0;
}

bool sched_has_steps(struct sched *s, uid_t uid, const char *session)
{
	return find(s, uid, session);
}

struct sched_slot *sched_step(struct sched *s, uid_t uid, const char *session)
{
	const struct sched_line *l = find(s, uid, session);

	if (!l || l->coming)
		return l ? l->coming : NULL;
	return first_of(l);
}

bool sched_is_next(const struct sched_slot *slot)
{
	const struct sched_line *l = slot->line;

	return !l || (!l->coming && l->waiting.next == &slot->in_line);
}

/* The oldest of a user that needs no machine and fits. */
static struct sched_slot *step_of(struct sched *s, struct sched_user *u)
{
	struct sched_slot *oldest = NULL;

	list_for_each (pos, tmp, &u->living) {
		struct sched_line *l = list_entry(pos, struct sched_line, node);
		struct sched_slot *slot =
			list_first(&l->waiting, struct sched_slot, in_line);

		if (!sched_is_living(slot))
			sched_line_lost(l); /* else at the next look */
		else if (sched_fits(s, slot) == FITS &&
			 (!oldest || slot->no < oldest->no))
			oldest = slot;
	}
	return oldest;
}

struct sched_slot *sched_next_step(struct sched *s)
{
	list_for_each (pos, tmp, &s->users) {
		struct sched_slot *slot = step_of(
			s, list_entry(pos, struct sched_user, node));

		if (slot)
			return slot;
	}
	return NULL;
}
