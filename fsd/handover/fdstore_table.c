/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores descriptors of sockets in the supervisor, by kind and id, and returns them to the
 * next server. The table owns each descriptor until a DROP, or until a SWEEP that finds it
 * unclaimed. A compromised server can fill the table; then only its own sockets are lost.
 *
 * `asked` marks the entries of the present server; the others are from an earlier one. The
 * file runs in the supervisor's process, on its only thread, and never blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fdstore.h"

struct kept {
	struct list node;
	struct fdstore_entry entry;
	int fd;     /* owned, or -1 */
	bool asked; /* this server has stored or fetched it */
};

struct fdstore_table {
	struct list all; /* owned: of struct kept */
	unsigned count, most;
};

int fdstore_table_new(unsigned most, struct fdstore_table **ret)
{
	struct fdstore_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	list_init(&t->all);
	t->most = most;
	*ret = t;
	return 0;
}

static struct kept *find(struct fdstore_table *t, const struct fdstore_entry *e)
{
	list_for_each(pos, tmp, &t->all) {
		struct kept *k = list_entry(pos, struct kept, node);

		if (k->entry.id == e->id && k->entry.kind == e->kind)
			return k;
	}
	return NULL;
}

static void drop(struct fdstore_table *t, struct kept *k)
{
	if (!k)
		return;
	list_del(&k->node);
	t->count--;
	fd_close(&k->fd);
	free(k);
}

/* Drops all entries, or those that this server has neither stored nor fetched. */
static void sweep(struct fdstore_table *t, bool all)
{
	list_for_each(pos, tmp, &t->all) {
		struct kept *k = list_entry(pos, struct kept, node);

		if (all || !k->asked)
			drop(t, k);
	}
}

void fdstore_table_free(struct fdstore_table *t)
{
	if (t)
		sweep(t, true);
	free(t);
}

/* Stores fd, which the table then owns. Over the limit, or without memory, it stores
 * nothing: the socket ends with its server. */
static void keep(struct fdstore_table *t, const struct fdstore_entry *e, int *fd)
{
	struct kept *k;

	drop(t, find(t, e));
	k = t->count < t->most ? calloc(1, sizeof(*k)) : NULL;
	if (!k)
		return;
	k->entry = *e;
	k->fd = take_fd(fd);
	k->asked = true;
	list_add_tail(&t->all, &k->node);
	t->count++;
}

void fdstore_table_next(struct fdstore_table *t)
{
	list_for_each(pos, tmp, &t->all)
		list_entry(pos, struct kept, node)->asked = false;
}

const struct fdstore_entry *
fdstore_table_hear(struct fdstore_table *t, const struct fdstore_message *m,
		   int fd, int *ret_fd)
{
	static const struct fdstore_entry none;
	struct kept *k = NULL;

	switch (m->what) {
	case FDSTORE_KEEP:
		keep(t, &m->entry, &fd);
		break;
	case FDSTORE_DROP:
		drop(t, find(t, &m->entry));
		break;
	case FDSTORE_SWEEP:
		sweep(t, false);
		break;
	case FDSTORE_FETCH:
		k = find(t, &m->entry);
		if (k)
			k->asked = true;
		*ret_fd = k ? k->fd : -1;
		break;
	default:
		break;
	}
	fd_close(&fd);
	return m->what != FDSTORE_FETCH ? NULL : k ? &k->entry : &none;
}
