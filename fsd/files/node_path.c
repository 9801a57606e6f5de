/* SPDX-License-Identifier: Apache-2.0 */
/* The path of a stored file below STATE/jobs, and its path in its job. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "fsd/store/store.h"
#include "node_int.h"

/* Writes the components from the area's root down; returns the new length. */
static int path_tail(const struct node *node, char *room, size_t size)
{
	int at = 0, n;

	if (node->parent) {
		at = path_tail(node->parent, room, size);
		if (at < 0)
			return at;
	}
	n = snprintf(room + at, size - (size_t)at, "%s%s", at ? "/" : "",
		     node->name);
	if (n < 0 || (size_t)(at + n) >= size)
		return -ENAMETOOLONG;
	return at + n;
}

int node_rel_path(const struct node *node, char *room, size_t size)
{
	return path_tail(node, room, size);
}

int node_path(const struct node *node, char *room, size_t size)
{
	char id[STORE_ID_SIZE];
	int at, n;

	if (node->renamed && node->unlinked)
		return snprintf(room, size, STORE_UNLINKED NODE_UNLINKED_FMT,
				node->ino);
	if (!node->owner)
		return -ESTALE;
	store_id(node->owner->meta->no, id);
	if (node->area == AREA_FILES)
		at = snprintf(room, size, "%s/files/", id);
	else if (node->area == AREA_SINK)
		at = snprintf(room, size, "%s/sink/", id);
	else if (node->area == AREA_REMOVED)
		at = snprintf(room, size, "%s/removed.%" PRIu64 "/", id,
			      node->owner->meta->queued_no);
	else
		at = snprintf(room, size, "%s/r%u/output/", id, node->run);
	n = path_tail(node, room + at, size - (size_t)at);
	return n < 0 ? n : at + n;
}

int node_child_path(const struct node *dir, const char *name, char *room,
		    size_t size)
{
	int at = node_path(dir, room, size), n;

	if (at < 0)
		return at;
	n = snprintf(room + at, size - (size_t)at, "/%s", name);
	return (size_t)(at + n) < size ? 0 : -ENAMETOOLONG;
}
