/* SPDX-License-Identifier: Apache-2.0 */
/* Contents and attributes of stored files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fsd/store/store_io.h"
#include "fsd/handover/fdstore.h"
#include "node_int.h"
#include "fsd/users/users.h"

int node_open(const struct node *node, int flags)
{
	char path[STORE_PATH_MAX];
	int fd;

	if (node->is_link && !(flags & O_PATH))
		return -ELOOP;
	if (node->keep_fd >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", node->keep_fd);
		fd = open(path, flags | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	if (node_path(node, path, sizeof(path)) < 0)
		return -ESTALE;
	if (flags & (O_TRUNC | O_CREAT))
		return call_open(node->nodes->store, path, flags);
	/* Changes nothing, and ops_target() has had it brought into memory. */
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

	if (node->keep_fd >= 0) {
		r = fstat(node->keep_fd, ret_stat);
	} else {
		if (node_path(node, path, sizeof(path)) < 0)
			return -ESTALE;
		r = fstatat(node->nodes->jobs_fd, path, ret_stat,
			    AT_SYMLINK_NOFOLLOW);
	}
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

	if (node->keep_fd >= 0 || node->is_link)
		return 0; /* it has no name any more; a link has no mode */
	if (node_path(node, path, sizeof(path)) < 0)
		return -ESTALE;
	mode = (mode & 0777) | (node->is_dir ? 0700 : 0600);
	return call_chmod(node->nodes->store, path, mode);
}

int node_utimens(const struct node *node, const struct timespec times[2])
{
	char path[STORE_PATH_MAX];

	if (node->keep_fd >= 0)
		return 0;
	if (node_path(node, path, sizeof(path)) < 0)
		return -ESTALE;
	return call_utimens(node->nodes->store, path, times);
}

/* --- files that go ---------------------------------------------------------- */

bool node_is_lost(const struct node *node)
{
	const struct file_owner *owner = node->owner;

	return node->refs && node->keep_fd < 0 && owner &&
	       !user_may_keep(node->nodes->users, owner->meta->uid);
}

static void store_file(struct node *node)
{
	const struct file_owner *owner = node->owner;
	struct fdstore_entry e = { .kind = FDSTORE_NODE, .id = node->ino,
				   .area = node->area };

	if (!owner || node->keep_fd < 0 || node->is_dir ||
	    node->is_link)
		return;
	e.uid = owner->meta->uid;
	node->stored = fdstore_keep(node->nodes->fdstore, &e, node->keep_fd) ==
		       0;
}

/* It counts as one that its job's owner has open. */
void node_keep_file(struct node *node)
{
	const struct file_owner *owner = node->owner;

	if (!node->refs || node->keep_fd >= 0 || node_is_lost(node))
		return;
	node->keep_fd = node_open(node, O_PATH);
	if (owner && node->keep_fd >= 0)
		node->payer = user_keeps(node->nodes->users,
					 owner->meta->uid);
	store_file(node);
}

static void unstore_file(struct node *node)
{
	user_closes(take_ptr(node->payer));
	if (node->stored)
		fdstore_drop(node->nodes->fdstore, FDSTORE_NODE, node->ino);
	node->stored = false;
}

void node_unkeep_file(struct node *node)
{
	unstore_file(node);
	fd_close(&node->keep_fd);
}

void node_give_up_file(struct node *node)
{
	unstore_file(node);
	if (node->keep_fd >= 0)
		store_close_file(node->nodes->store, take_fd(&node->keep_fd));
}

void node_root_keep(struct node *root)
{
	if (!root)
		return;
	list_for_each(pos, tmp, &root->children)
		node_root_keep(list_entry(pos, struct node, sibling));
	node_keep_file(root);
}

void node_root_unkeep(struct node *root)
{
	if (!root)
		return;
	list_for_each(pos, tmp, &root->children)
		node_root_unkeep(list_entry(pos, struct node, sibling));
	node_unkeep_file(root);
}
