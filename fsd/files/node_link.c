/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbolic links below a job. A reader follows a link in its own view of the
 * mount, so a link must never lead out of the tree that it is in. Its text is looked
 * at when it is made. Later it may be moved up, and a name in it may be another
 * link, behind which ".." leads elsewhere: so it is looked at again each time
 * that it is read.
 */
#include <errno.h>
#include <string.h>

#include "fsd/store/store_io.h"
#include "node_int.h"
#include "vm/vm.h"

int node_make_link(struct node *dir, const char *name, const char *target,
		   struct node **ret_node)
{
	char path[STORE_PATH_MAX];
	struct stat st;
	int r = node_new_path(dir, name, path, sizeof(path));

	if (r < 0)
		return r;
	node_ref(dir);
	r = call_make_link(dir->nodes->store, path, target, &st);
	r = node_made(dir, name, path, r, &st, ret_node);
	node_unref(dir);
	return r;
}

/* True if path has ".." among its names. */
static bool goes_up(const char *path)
{
	size_t len;

	for (; *path; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (len == 2 && path[0] == '.' && path[1] == '.')
			return true;
	}
	return false;
}

/* Follows the target's names and ".." through directories that exist, until no ".." is
 * left. A name that does not exist ends the walk. Return: false: the target leaves the
 * tree, has a name that is too long, or goes through another link. */
static bool stays_inside(struct node *dir, const char *target)
{
	char name[LIMIT_FILE_NAME + 1];

	while (dir && goes_up(target)) {
		size_t len = strcspn(target, "/");

		if (len > LIMIT_FILE_NAME)
			return false;
		memcpy(name, target, len);
		name[len] = '\0';
		target += len + (target[len] == '/');
		if (!strcmp(name, "..") && !dir->parent)
			return false;
		if (!strcmp(name, ".."))
			dir = dir->parent;
		else if (*name && strcmp(name, ".") != 0)
			dir = node_find(dir, name);
		if (dir && !dir->is_dir)
			return !dir->is_link;
	}
	return true;
}

int node_read_link(const struct node *node, char *room)
{
	char path[STORE_PATH_MAX];
	int r = node->parent ? node_path(node, path, sizeof(path)) : -ESTALE;

	if (r >= 0)
		r = store_link_read(node->nodes->jobs_fd, path, room,
				    LIMIT_PATH + 1);
	if (r < 0)
		return r;
	return wire_link_ok(node->parent->depth, room) &&
			       stays_inside(node->parent, room)
		       ? r
		       : -EPERM;
}
