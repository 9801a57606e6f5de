/* SPDX-License-Identifier: Apache-2.0 */
/* Contents and attributes of stored files. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "fsd/store/store_io.h"
#include "node_int.h"

int node_open(const struct node *node, int flags)
{
	char path[STORE_PATH_MAX];
	int fd;

	if (node->is_link && !(flags & O_PATH))
		return -ELOOP;
	if (node_path(node, path, sizeof(path)) < 0)
		return -ESTALE;
	if (flags & (O_TRUNC | O_CREAT))
		return call_open(node->nodes->store, path, flags);
	/* This open changes nothing on the disk, and ops_target() has loaded the inode
	 * before, so it need not run on a thread. */
	fd = open_quietly(node->nodes->jobs_fd, path, flags);
	return fd < 0 ? -errno : fd;
}

void node_close(const struct node *node, int fd)
{
	store_close_file(node->nodes->store, fd);
}

int node_stat(const struct node *node, struct stat *ret_stat)
{
	char path[STORE_PATH_MAX];
	int r;

	if (node_path(node, path, sizeof(path)) < 0)
		return -ESTALE;
	r = fstatat(node->nodes->jobs_fd, path, ret_stat, AT_SYMLINK_NOFOLLOW);
	if (r == 0 && node->is_link)
		ret_stat->st_size -= (off_t)strlen(STORE_LINK);
	return r < 0 ? -errno : 0;
}

int node_read(int fd, uint64_t limit, struct buf *ret)
{
	ssize_t n;

	ret->cap = limit + 1;
	do {
		size_t step = MIN(limit + 1 - ret->len, (size_t)65536);

		if (buf_reserve(ret, step) < 0)
			return -ENOMEM;
		n = read(fd, ret->data + ret->len, step);
		if (n < 0)
			return -errno;
		ret->len += (size_t)n;
	} while (n > 0 && ret->len <= limit);
	return 0;
}

void node_tree_changed(struct node *node)
{
	while (node->parent)
		node = node->parent;
	node->version = ++node->nodes->versions;
}

void node_changed(struct node *node)
{
	node->version = ++node->nodes->versions;
	node->cut = false;
	node_tree_changed(node);
}

void node_writer_begin(struct node *node)
{
	node->writers++;
	node_tree_changed(node);
}

void node_writer_end(struct node *node)
{
	node->writers--;
}

int node_chmod(const struct node *node, mode_t mode)
{
	char path[STORE_PATH_MAX];

	if (node->is_link)
		return 0; /* a link has no mode of its own */
	if (node_path(node, path, sizeof(path)) < 0)
		return -ESTALE;
	mode = (mode & 0777) | (node->is_dir ? 0700 : 0600);
	return call_chmod(node->nodes->store, path, mode);
}

int node_utimens(const struct node *node, const struct timespec times[2])
{
	char path[STORE_PATH_MAX];

	if (node_path(node, path, sizeof(path)) < 0)
		return -ESTALE;
	return call_utimens(node->nodes->store, path, times);
}

/* --- files that go ---------------------------------------------------------- */

void node_keep_file(struct node *node)
{
	char path[STORE_PATH_MAX], name[STORE_ID_SIZE];

	if (!node->refs || !node->parent || node->renamed ||
	    node_path(node, path, sizeof(path)) < 0)
		return;
	snprintf(name, sizeof(name), NODE_UNLINKED_FMT, node->ino);
	node->renamed = store_unlinked_add(node->nodes->store, path, name) == 0;
	if (!node->renamed)
		log_warn("%s: it cannot be read any more once it is removed", path);
}

void node_unkeep_file(struct node *node)
{
	char name[STORE_ID_SIZE];

	if (!node->renamed)
		return;
	node->renamed = false;
	snprintf(name, sizeof(name), NODE_UNLINKED_FMT, node->ino);
	store_unlinked_drop(node->nodes->store, name);
}

bool nodes_need(struct nodes *nodes, const char *name)
{
	const struct node *node = node_by_ino(nodes, strtoull(name, NULL, 16));
	char again[STORE_ID_SIZE] = "";

	if (node && node->renamed)
		snprintf(again, sizeof(again), NODE_UNLINKED_FMT, node->ino);
	return !strcmp(name, again);
}

void node_root_keep(struct node *root)
{
	if (!root)
		return;
	list_for_each(pos, tmp, &root->children)
		node_root_keep(list_entry(pos, struct node, sibling));
	node_keep_file(root);
}
