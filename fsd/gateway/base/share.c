/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts a bounded resource per owner and refuses an amount that exceeds the owner's
 * part. An owner exists only while it uses some of the resource.
 *
 * One mutex protects the list of owners and the sums. Any thread may call; a struct
 * holding belongs to one thread at a time. The caller waits or refuses: no function here
 * blocks for the resource.
 */
#include "share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/num.h"

struct owner {
	struct list node;
	char name[SHARE_OWNER];
	size_t used;
};

void shares_init(struct shares *s, size_t total)
{
	*s = (struct shares){ .total = total };
	pthread_mutex_init(&s->lock, NULL);
	list_init(&s->owners);
}

static void drop(struct owner *o)
{
	list_del(&o->node);
	free(o);
}

void shares_done(struct shares *s)
{
	list_for_each(pos, tmp, &s->owners)
		drop(list_entry(pos, struct owner, node));
	pthread_mutex_destroy(&s->lock);
}

static struct owner *find(struct shares *s, const char *name)
{
	list_for_each(pos, tmp, &s->owners) {
		struct owner *o = list_entry(pos, struct owner, node);

		if (!strcmp(o->name, name))
			return o;
	}
	return NULL;
}

static struct owner *add(struct shares *s, const char *name)
{
	struct owner *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	snprintf(o->name, sizeof(o->name), "%s", name);
	list_add_tail(&s->owners, &o->node);
	return o;
}

static bool take_locked(struct shares *s, const char *name, size_t amount)
{
	struct owner *o = find(s, name);
	size_t left = s->total - s->used;

	if (amount > left || (o ? o->used : 0) > left - amount)
		return false;
	o = o ? o : add(s, name);
	if (!o)
		return false;
	o->used += amount;
	s->used += amount;
	return true;
}

bool shares_take(struct shares *s, const char *owner, size_t amount)
{
	bool taken;

	pthread_mutex_lock(&s->lock);
	taken = !amount || take_locked(s, owner, amount);
	pthread_mutex_unlock(&s->lock);
	return taken;
}

void shares_give(struct shares *s, const char *owner, size_t amount)
{
	struct owner *o;

	pthread_mutex_lock(&s->lock);
	o = find(s, owner);
	if (o) {
		amount = MIN(amount, o->used);
		o->used -= amount;
		s->used -= amount;
		if (!o->used)
			drop(o);
	}
	pthread_mutex_unlock(&s->lock);
}

bool holding_set(struct holding *h, size_t amount)
{
	if (amount > h->amount &&
	    !shares_take(h->shares, h->owner, amount - h->amount))
		return false;
	if (amount < h->amount)
		shares_give(h->shares, h->owner, h->amount - amount);
	h->amount = amount;
	return true;
}
