/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the sockets of jailers and machines with the holder, and adopts the jailers of
 * earlier servers. Each socket gets a key; the first key is the time, so that keys of
 * two servers differ.
 *
 * A struct left owns the adopted jailers. on_tidy() frees those without machines; it is
 * deferred, because a jailer may still be in its own callback. All runs on the loop.
 */
#include "left.h"

#include "layout/base/cleanup.h"

struct left_jail {
	struct list node;
	uint64_t key;
	struct jail *jail; /* owned */
};

static void keep(const struct left *l, uint64_t key, int fd)
{
	if (l->keep)
		l->keep->keep(l->keep->arg, key, fd);
}

static void drop(const struct left *l, uint64_t key)
{
	if (l->keep && key)
		l->keep->drop(l->keep->arg, key);
}

void left_keep_jail(const struct left *l, int sock)
{
	keep(l, l->key, sock);
}

void left_keep_machine(struct left *l, int wire, int monitor,
		       struct vm_keys *ret)
{
	*ret = (struct vm_keys){
		.jail = l->key,
		.wire = ++l->last_key,
		.monitor = ++l->last_key,
	};
	keep(l, ret->wire, wire);
	keep(l, ret->monitor, monitor);
}

void left_drop_machine(const struct left *l, const struct vm_keys *keys)
{
	drop(l, keys->wire);
	drop(l, keys->monitor);
}

/* It is the holder's child: it need not be waited for while we serve. */
static void jail_free(struct left *l, struct left_jail *j, bool wait)
{
	drop(l, j->key);
	list_del(&j->node);
	if (wait)
		jail_close(j->jail);
	else
		jail_leave(j->jail);
	free(j);
}

/* Not inside what one of them has said. */
static void on_tidy(struct loop_call *call)
{
	struct left *l = call->arg;

	list_for_each(pos, tmp, &l->jails) {
		struct left_jail *j = list_entry(pos, struct left_jail, node);

		if (jail_is_empty(j->jail))
			jail_free(l, j, false);
	}
}

void left_look(struct left *l)
{
	loop_defer(l->loop, &l->tidy);
}

struct jail *left_jail(struct left *l, uint64_t key)
{
	list_for_each(pos, tmp, &l->jails) {
		struct left_jail *j = list_entry(pos, struct left_jail, node);

		if (j->key == key)
			return j->jail;
	}
	return NULL;
}

void left_add(struct left *l, uint64_t key, int sock)
{
	auto_close int owned = sock;
	struct left_jail *j;

	if (left_jail(l, key))
		return;
	j = calloc(1, sizeof(*j));
	if (!j || jail_adopt(l->loop, take_fd(&owned), &j->jail) < 0) {
		drop(l, key); /* and with it all of its machines */
		free(j);
		return;
	}
	j->key = key;
	list_add_tail(&l->jails, &j->node);
	left_look(l); /* perhaps no machine of it is adopted */
}

void left_sweep(struct left *l)
{
	list_for_each(pos, tmp, &l->jails)
		jail_sweep(list_entry(pos, struct left_jail, node)->jail);
}

void left_init(struct left *l, struct loop *loop, const struct vm_keep *keep)
{
	*l = (struct left){
		.loop = loop, .keep = keep,
		.tidy = { .fn = on_tidy, .arg = l },
	};
	l->key = l->last_key = now_ns();
	list_init(&l->jails);
}

void left_done(struct left *l)
{
	loop_call_del(&l->tidy);
	list_for_each(pos, tmp, &l->jails)
		jail_free(l, list_entry(pos, struct left_jail, node), true);
	drop(l, l->key);
}
