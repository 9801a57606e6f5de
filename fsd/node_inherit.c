/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel asks by numbers that it was given long ago, also another server:
 * for each stored file that it knows there is a record of the job that has it,
 * so that it is found again without looking through all jobs.
 */
#include <errno.h>
#include <string.h>

#include "inherit.h"
#include "job.h"
#include "node_int.h"

struct inherited {
	struct hash_node node; /* in nodes->inherited */
	struct inherit_node *kept;
};

/* What stays of a number whatever the file is called and whichever other had
 * the number before. */
#define FILE_BITS ((1ull << 48) - 1)

static struct inherited *find(struct nodes *nodes, uint64_t ino)
{
	struct hash_node *h = hash_first(&nodes->inherited, hash_u64(ino));

	for (; h; h = hash_next(h)) {
		struct inherited *i = container_of(h, struct inherited, node);

		if (i->kept->ino == ino)
			return i;
	}
	return NULL;
}

static int add(struct nodes *nodes, struct inherit_node *kept)
{
	struct inherited *i = calloc(1, sizeof(*i));

	if (!i)
		return -ENOMEM;
	i->kept = kept;
	if (hash_add(&nodes->inherited, &i->node, hash_u64(kept->ino)) < 0) {
		free(i);
		return -ENOMEM;
	}
	return 0;
}

static struct inherit_node *take(struct nodes *nodes, struct inherited *i)
{
	struct inherit_node *kept = i->kept;

	hash_del(&nodes->inherited, &i->node);
	free(i);
	return kept;
}

int node_inherit_begin(struct nodes *nodes)
{
	struct inherit *in = nodes->inherit;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < inherit_count(in, INHERIT_NODES);
	     i++) {
		struct inherit_node *kept = inherit_at(in, INHERIT_NODES, i);

		if (kept && find(nodes, kept->ino))
			kept->live = 0;
		else if (kept)
			r = add(nodes, kept);
	}
	inherit_recycle(in, INHERIT_NODES);
	return r;
}

void node_inherit_end(struct nodes *nodes)
{
	struct hash_node *h;
	size_t from = 0;

	while ((h = hash_any(&nodes->inherited, &from)))
		take(nodes, container_of(h, struct inherited, node));
	hash_done(&nodes->inherited);
}

const struct inherit_node *nodes_inherited(struct nodes *nodes, uint64_t ino)
{
	const struct inherited *i = find(nodes, ino);

	return i ? i->kept : NULL;
}

bool node_is_others(struct nodes *nodes, const struct node *dir, uint64_t ino)
{
	const struct inherited *i = find(nodes, ino);

	return i && (!dir || !dir->job || i->kept->job != dir->job->meta.no);
}

void nodes_forget(struct nodes *nodes, uint64_t ino)
{
	struct inherited *i = find(nodes, ino);

	if (i)
		inherit_del(nodes->inherit, INHERIT_NODES, take(nodes, i));
}

/* Return: 0; -ENOENT; another errno: what could not be read may have it. */
static int search(struct node *dir, uint64_t ino, struct node **ret)
{
	int r = dir->is_dir ? node_load(dir) : 0, found = -ENOENT;

	if (r < 0)
		return r;
	list_for_each(pos, tmp, &dir->children) {
		struct node *n = list_entry(pos, struct node, sibling);

		*ret = n;
		r = ((n->ino ^ ino) & FILE_BITS) == 0 ? 0 : search(n, ino, ret);
		if (r == 0)
			return 0;
		if (r != -ENOENT)
			found = r;
	}
	return found;
}

int node_adopt(struct node *root, uint64_t ino, struct node **ret)
{
	struct node *n;
	int r = search(root, ino, &n);

	if (r < 0)
		return r;
	if (!n->lookups)
		node_renumber(n, ino);
	n->lookups++; /* at least one: the kernel says so when it forgets */
	node_keep(n);
	*ret = n;
	return 0;
}

void node_keep(struct node *node)
{
	struct nodes *nodes = node->nodes;
	struct inherited *i;
	uint32_t place;

	if (!node->lookups || !node->job)
		return;
	if (!node->kept && (i = find(nodes, node->ino)))
		node->kept = take(nodes, i);
	if (!node->kept)
		node->kept = inherit_add(nodes->inherit, INHERIT_NODES, &place);
	if (!node->kept)
		return; /* its number is stale for the next server */
	node->kept->ino = node->ino;
	node->kept->job = node->job->meta.no;
	node->kept->area = node->area;
	node->kept->run = node->run;
	inherit_publish(&node->kept->live);
}

void node_unkeep(struct node *node)
{
	if (node->kept)
		inherit_del(node->nodes->inherit, INHERIT_NODES,
			    take_ptr(node->kept));
}
