/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the table of names. A look-up compares the hashes of all rows in turn: that is some
 * microseconds for 4,096 rows, and an index would be one more thing to keep right.
 */
#include "net_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a; a program may make names of one hash, which only costs it time. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash;
}

int net_names_open(struct net_names *n, unsigned most)
{
	n->row = calloc(most, sizeof(*n->row));
	n->most = n->row ? most : 0;
	return n->row ? 0 : -ENOMEM;
}

void net_names_done(struct net_names *n)
{
	free(n->row);
	*n = (struct net_names){ 0 };
}

int net_names_find(const struct net_names *n, const char *name)
{
	uint32_t hash = hash_of(name);

	for (unsigned i = 0; i < n->most && n->row[i].name[0]; i++)
		if (n->row[i].hash == hash && !strcmp(n->row[i].name, name))
			return (int)i;
	return -ENOENT;
}

/* Rows are taken in order, so the first free one ends the search. */
static int find_room(const struct net_names *n, uint64_t now_ns)
{
	int oldest = -EAGAIN;

	for (unsigned i = 0; i < n->most; i++) {
		const struct net_name *row = &n->row[i];

		if (!row->name[0])
			return (int)i;
		if (!row->streams && now_ns - row->used_ns >= NET_NAMES_KEPT_NS &&
		    (oldest < 0 || row->used_ns < n->row[oldest].used_ns))
			oldest = (int)i;
	}
	return oldest;
}

int net_names_take(struct net_names *n, const char *name, uint64_t now_ns, bool *ret_new)
{
	int i = net_names_find(n, name);

	*ret_new = i < 0;
	if (i < 0)
		i = find_room(n, now_ns);
	if (i < 0)
		return i;
	if (*ret_new) {
		n->row[i] = (struct net_name){ .hash = hash_of(name) };
		memcpy(n->row[i].name, name, strlen(name) + 1);
	}
	n->row[i].used_ns = now_ns;
	return i;
}

int net_names_at(const struct net_names *n, uint32_t address)
{
	uint32_t i = address - NET_NAMES_FIRST;

	return i < n->most && n->row[i].name[0] ? (int)i : -ENOENT;
}
