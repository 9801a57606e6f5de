/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the sockets of jailers and machines with the supervisor, and adopts
 * the jailers of earlier servers. Each socket gets a key; the first key is the
 * time, so that keys of two servers differ.
 *
 * A struct survivors owns the adopted jailers. on_tidy() frees those without
 * machines; it is deferred, because a jailer may still be in its own callback.
 * All functions run on the loop.
 */
#include "survivors.h"

#include "layout/base/cleanup.h"

struct survivors_jail {
	struct list node;
	uint64_t key;
	struct jail *jail; /* owned */
};

static void keep(const struct survivors *l, uint64_t key, int fd)
{
	if (l->keep)
		l->keep->keep(l->keep->arg, key, fd);
}

static void drop(const struct survivors *l, uint64_t key)
{
	if (l->keep && key)
		l->keep->drop(l->keep->arg, key);
}

void survivors_keep_jail(const struct survivors *l, int sock)
{
	keep(l, l->key, sock);
}

void survivors_keep_machine(struct survivors *l, int wire, int monitor,
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

void survivors_keep_account(struct survivors *l, int account, struct vm_keys *keys)
{
	keys->account = ++l->last_key;
	keep(l, keys->account, account);
}

void survivors_drop_machine(const struct survivors *l, const struct vm_keys *keys)
{
	drop(l, keys->wire);
	drop(l, keys->monitor);
	drop(l, keys->account);
}

/* Frees a jailer. wait: until it has ended; not needed while this server runs, as the
 * supervisor reaps the jailers of earlier servers. */
static void jail_free(struct survivors *l, struct survivors_jail *j, bool wait)
{
	drop(l, j->key);
	list_del(&j->node);
	if (wait)
		jail_close(j->jail);
	else
		jail_leave(j->jail);
	free(j);
}

/* Deferred, so that no jailer is freed inside its own event. */
static void on_tidy(struct loop_call *call)
{
	struct survivors *l = call->arg;

	list_for_each(pos, tmp, &l->jails) {
		struct survivors_jail *j = list_entry(pos, struct survivors_jail, node);

		if (jail_is_empty(j->jail))
			jail_free(l, j, false);
	}
}

void survivors_check(struct survivors *l)
{
	loop_defer(l->loop, &l->tidy);
}

struct jail *survivors_jail(struct survivors *l, uint64_t key)
{
	list_for_each(pos, tmp, &l->jails) {
		struct survivors_jail *j = list_entry(pos, struct survivors_jail, node);

		if (j->key == key)
			return j->jail;
	}
	return NULL;
}

void survivors_add(struct survivors *l, uint64_t key, int sock)
{
	auto_close int owned = sock;
	struct survivors_jail *j;

	if (survivors_jail(l, key))
		return;
	j = calloc(1, sizeof(*j));
	if (!j || jail_adopt(l->loop, take_fd(&owned), &j->jail) < 0) {
		/* the jailer then ends, and with it all its machines */
		drop(l, key);
		free(j);
		return;
	}
	j->key = key;
	list_add_tail(&l->jails, &j->node);
	survivors_check(l); /* frees it if no machine of it is adopted */
}

void survivors_sweep(struct survivors *l)
{
	list_for_each(pos, tmp, &l->jails)
		jail_sweep(list_entry(pos, struct survivors_jail, node)->jail);
}

void survivors_init(struct survivors *l, struct loop *loop, const struct vm_keep *keep)
{
	*l = (struct survivors){
		.loop = loop, .keep = keep,
		.tidy = { .fn = on_tidy, .arg = l },
	};
	l->key = l->last_key = now_ns();
	list_init(&l->jails);
}

void survivors_done(struct survivors *l)
{
	loop_call_del(&l->tidy);
	list_for_each(pos, tmp, &l->jails)
		jail_free(l, list_entry(pos, struct survivors_jail, node), true);
	drop(l, l->key);
}
