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

/* Old ones before all others, as in a level. */
void sched_line_wait(struct sched_slot *slot, bool front)
{
	struct list *at = &slot->line->waiting;

	if (front)
		at = at->next;
	while (!front && slot->old && at->prev != &slot->line->waiting &&
	       !list_entry(at->prev, struct sched_slot, in_line)->old)
		at = at->prev;
	list_add_tail(at, &slot->in_line);
}

void sched_line_wait_out(struct sched_slot *slot)
{
	struct sched_line *l = slot->line;

	list_del(&slot->in_line);
	if (!list_empty(&l->waiting))
		return;
	list_del(&l->node);
	l->lives = false;
}

static void leave_levels(struct sched_line *l)
{
	list_for_each (pos, tmp, &l->waiting)
		sched_level_out(list_entry(pos, struct sched_slot, in_line));
}

void sched_line_look(struct sched_slot *slot)
{
	struct sched_line *l = slot->line;

	if (l->lives || !sched_is_living(slot))
		return;
	l->lives = true;
	list_add_tail(&slot->user->living, &l->node);
	leave_levels(l);
}

int sched_line_lost(struct sched_line *l)
{
	for (struct list *pos = l->waiting.prev; pos != &l->waiting;
	     pos = pos->prev) {
		if (sched_level_in(list_entry(pos, struct sched_slot, in_line),
				   true) < 0) {
			leave_levels(l);
			return -ENOMEM;
		}
	}
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
	return list_first(&l->waiting, struct sched_slot, in_line);
}

bool sched_is_next(const struct sched_slot *slot)
{
	const struct sched_line *l = slot->line;

	return !l || (!l->coming && l->waiting.next == &slot->in_line);
}
