/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores descriptors in the supervisor, by kind and id, and returns them to the next server.
 * The table owns each descriptor until a DROP, or until a SWEEP that finds it unclaimed.
 *
 * `asked` tells the current server's entries from those of the server before. The file
 * runs in the supervisor's process, on its only thread, and never blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fdstore.h"
#include "fsd/base/hash.h"

struct kept {
	struct hash_node by_id;
	struct list node;
	struct fdstore_entry entry;
	int fd;     /* owned, or -1 */
	bool asked; /* the server that is has it */
};

struct fdstore_table {
	struct hash by_id;
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
	struct hash_node *h = hash_first(&t->by_id, hash_u64(e->id));

	for (; h; h = hash_next(h)) {
		struct kept *k = container_of(h, struct kept, by_id);

		if (k->entry.id == e->id && k->entry.kind == e->kind)
			return k;
	}
	return NULL;
}

static void drop(struct fdstore_table *t, struct kept *k)
{
	if (!k)
		return;
	hash_del(&t->by_id, &k->by_id);
	list_del(&k->node);
	t->count--;
	fd_close(&k->fd);
	free(k);
}

void fdstore_table_free(struct fdstore_table *t)
{
	if (!t)
		return;
	list_for_each(pos, tmp, &t->all)
		drop(t, list_entry(pos, struct kept, node));
	hash_done(&t->by_id);
	free(t);
}

/* Beyond the limit, and without memory, it ends with its server. */
static void keep(struct fdstore_table *t, const struct fdstore_entry *e,
		 int *fd)
{
	struct kept *k;

	drop(t, find(t, e));
	if (t->count >= t->most)
		return;
	k = calloc(1, sizeof(*k));
	if (!k || hash_add(&t->by_id, &k->by_id, hash_u64(e->id)) < 0) {
		free(k);
		return;
	}
	k->entry = *e;
	k->fd = take_fd(fd);
	k->asked = true;
	list_add_tail(&t->all, &k->node);
	t->count++;
}

/* Those of the server before; what is there now is the next one's to ask for. */
static void sweep(struct fdstore_table *t)
{
	list_for_each(pos, tmp, &t->all) {
		struct kept *k = list_entry(pos, struct kept, node);

		if (!k->asked)
			drop(t, k);
	}
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
		sweep(t);
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
