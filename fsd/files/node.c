/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of nodes, and the tree of each job: create, find, unlink, rename. A call
 * that changes the tree changes the store first. Context: the loop or a fiber, which
 * may wait for a worker thread of the store.
 */
#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fsd/store/store_io.h"
#include "node_int.h"
#include "fsd/base/time_slice.h"

/* --- the table ---------------------------------------------------------- */

int nodes_new(const struct nodes_use *use, struct nodes **ret_nodes)
{
	struct nodes *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->handover = use->handover;
	n->users = use->users;
	n->store = use->store;
	n->jobs_fd = store_jobs_fd(n->store);
	n->slices = use->slices;
	n->ino_key = node_ino_key(n->store);
	list_init(&n->cursors);
	*ret_nodes = n;
	return node_inherit_begin(n);
}

struct node *node_by_ino(struct nodes *nodes, uint64_t ino)
{
	struct hash_node *h = hash_first(&nodes->by_ino, hash_u64(ino));

	for (; h; h = hash_next(h)) {
		struct node *node = container_of(h, struct node, by_ino);

		if (node->ino == ino)
			return node;
	}
	return NULL;
}

static uint64_t name_hash(const struct node *dir, const char *name)
{
	return hash_text(name, hash_u64((uint64_t)(uintptr_t)dir));
}

/* --- life --------------------------------------------------------------- */

static void node_free(struct node *node)
{
	hash_del(&node->nodes->by_ino, &node->by_ino);
	node_unkeep(node);
	node_load_end(node);
	node_unkeep_file(node);
	free(node->name);
	free(node);
}

static void maybe_free(struct node *node)
{
	if (node->unlinked && !node->parent && !node->lookups && !node->refs)
		node_free(node);
}

/* Frees the table. The kernel's lookups end with the mount; it does not forget them one
 * by one. */
void nodes_free(struct nodes *nodes)
{
	struct hash_node *h;
	size_t from = 0;

	if (!nodes)
		return;
	while ((h = hash_any(&nodes->by_ino, &from)))
		node_free(container_of(h, struct node, by_ino));
	node_inherit_end(nodes);
	hash_done(&nodes->by_ino);
	hash_done(&nodes->by_name);
	free(nodes);
}

void node_ref(struct node *node)
{
	node->refs++;
}

void node_unref(struct node *node)
{
	node->refs--;
	if (node->unlinked && !node->refs)
		quota_closed(node);
	if (!node->refs)
		node_unkeep_file(node);
	maybe_free(node);
}

void node_lookup_add(struct node *node)
{
	node->lookups++;
	node_keep(node);
}

void node_forget(struct node *node, uint64_t count)
{
	node->lookups -= MIN(count, node->lookups);
	if (node->lookups)
		node_keep(node);
	else
		node_unkeep(node);
	maybe_free(node);
}

static bool is_config(const struct node *dir, const char *name)
{
	return dir && dir->area == AREA_FILES && !dir->parent &&
	       !strcmp(name, "config.json");
}

static uint64_t make_ino(const struct node *dir, const char *name, ino_t ino)
{
	return INO_MAKE(is_config(dir, name) ? INO_CONFIG : INO_NODE,
			INO_REST((uint64_t)ino));
}

/*
 * Finds a free number: the kernel may still know that of a file that is gone, and the
 * store's file system may have given its inode to a new file. Bits above 48 tell the two
 * apart.
 */
static uint64_t free_ino(struct nodes *nodes, const struct node *dir,
			 const char *name, uint64_t ino)
{
	while (node_by_ino(nodes, ino) ||
	       node_is_others(nodes, dir, name, ino))
		ino += 1ull << 48;
	return ino;
}

void node_renumber(struct node *node, uint64_t ino)
{
	hash_del(&node->nodes->by_ino, &node->by_ino);
	node->ino = ino;
	hash_add(&node->nodes->by_ino, &node->by_ino, hash_u64(ino));
}

/* dir is NULL for an area's root. */
static struct node *node_new(struct nodes *nodes, struct node *dir,
			     const char *name, ino_t ino, bool is_dir)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->nodes = nodes;
	n->parent = dir;
	n->is_dir = is_dir;
	n->name = strdup(name);
	node_changed(n);
	ino = node_ino_shuffle(ino, nodes->ino_key);
	/* The kernel knows a root by the number of a virtual file of its job. */
	n->ino = dir ? free_ino(nodes, dir, name, make_ino(dir, name, ino))
		     : INO_MAKE(INO_ROOT, ++nodes->roots);
	list_init(&n->children);
	list_init(&n->codes);
	if (!n->name || hash_add(&nodes->by_ino, &n->by_ino,
				 hash_u64(n->ino)) < 0) {
		free(n->name);
		free(n);
		return NULL;
	}
	return n;
}

struct node *node_new_unlinked(struct nodes *nodes, uint64_t ino, bool is_dir)
{
	struct node *n = node_new(nodes, NULL, "?", 0, is_dir);

	if (!n)
		return NULL;
	node_renumber(n, ino);
	n->unlinked = true;
	n->loaded = is_dir; /* a new directory is empty */
	return n;
}

static int link_child(struct node *dir, struct node *n)
{
	int r = hash_add(&dir->nodes->by_name, &n->by_name,
			 name_hash(dir, n->name));

	if (r < 0)
		return r;
	n->owner = dir->owner;
	n->parent = dir;
	n->area = dir->area;
	n->run = dir->run;
	n->depth = dir->depth + 1;
	n->seq = dir->nodes->seq = MAX(dir->nodes->seq + 1, now_ns());
	list_add_tail(&dir->children, &n->sibling);
	if ((dir->area == AREA_FILES || dir->area == AREA_REMOVED) &&
	    !dir->parent && code_kind(n->name) != CODE_NO)
		list_add_tail(&dir->codes, &n->code);
	dir->child_count++;
	node_tree_changed(dir);
	return 0;
}

static void unlink_child(struct node *n)
{
	if (!n->parent)
		return;
	hash_del(&n->nodes->by_name, &n->by_name);
	list_cursors_leave(&n->nodes->cursors, &n->sibling);
	list_del(&n->sibling);
	list_del(&n->code);
	n->parent->child_count--;
	node_tree_changed(n->parent);
	n->parent = NULL;
}

struct node *node_add_child(struct node *dir, const char *name,
			    const struct stat *st)
{
	struct node *n = node_new(dir->nodes, dir, name, st->st_ino,
				  S_ISDIR(st->st_mode));

	if (!n)
		return NULL;
	n->is_link = S_ISLNK(st->st_mode);
	n->parent = NULL;
	if (link_child(dir, n) < 0) {
		node_free(n);
		return NULL;
	}
	return n;
}

struct node *node_root_new(struct file_owner *owner, enum node_area area,
			   unsigned run, bool loaded)
{
	struct nodes *nodes = owner->nodes;
	char path[STORE_PATH_MAX];
	struct node probe = { .owner = owner, .area = area, .run = run,
			      .name = (char[]){ "" } };
	struct node *n;
	struct stat st;

	if (area != AREA_FILES && /* files/ exists: the scan has seen it */
	    (node_path(&probe, path, sizeof(path)) < 0 ||
	     fstatat(nodes->jobs_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0))
		return NULL;
	n = node_new(nodes, NULL, "", 0, true);
	if (!n)
		return NULL;
	n->owner = owner;
	n->area = area;
	n->run = run;
	n->loaded = loaded;
	return n;
}

/* Takes the node out of its tree. */
static void detach(struct node *node)
{
	quota_unlinked(node);
	node_gone(node);
	unlink_child(node);
	node_load_end(node);
	node->owner = NULL;
	node->unlinked = true;
	maybe_free(node);
}

/* --- the end of a tree -------------------------------------------------- */

/* Marks all nodes of a tree as unlinked, and leaves them in their places. Children come
 * before their parent, because the path of their files has its name. */
static void doom(struct node *node)
{
	list_for_each(pos, tmp, &node->children)
		doom(list_entry(pos, struct node, sibling));
	node_keep_file(node);
	quota_orphan(node);
	node_gone(node);
	node_load_end(node);
	node->unlinked = true;
	node->owner = NULL;
}

struct tree_end {
	struct time_slice slice;
	struct node *root; /* a reference */
};

static struct node *some_leaf(struct node *node)
{
	struct node *child;

	while ((child = list_first(&node->children, struct node, sibling)))
		node = child;
	return node;
}

static bool on_tree_end(struct time_slice *t, uint64_t until)
{
	struct tree_end *end = container_of(t, struct tree_end, slice);
	struct node *node;

	while ((node = some_leaf(end->root)) != end->root) {
		detach(node);
		if (now_ns() >= until)
			return true;
	}
	node_unref(end->root);
	free(end);
	return false;
}

static void free_tree(struct node *node)
{
	list_for_each(pos, tmp, &node->children)
		free_tree(list_entry(pos, struct node, sibling));
	detach(node);
}

void node_root_free(struct node *root)
{
	struct tree_end *end = root ? calloc(1, sizeof(*end)) : NULL;

	if (!root)
		return;
	doom(root);
	if (!end) {
		free_tree(root);
		return;
	}
	node_ref(root);
	end->slice.work = on_tree_end;
	end->root = root;
	time_slice_begin(root->nodes->slices, &end->slice);
}

/* --- directories -------------------------------------------------------- */

uint64_t node_last_seq(const struct nodes *nodes)
{
	return nodes->seq;
}

void node_walk(struct list_cursor *w, struct node *dir)
{
	list_cursor_begin(w, &dir->nodes->cursors, &dir->children);
}

struct node *node_walk_next(struct list_cursor *w)
{
	struct list *at = list_cursor_next(w);

	return at ? list_entry(at, struct node, sibling) : NULL;
}

struct node *node_child(const struct node *dir, const char *name)
{
	struct hash_node *h = hash_first(&dir->nodes->by_name,
					 name_hash(dir, name));

	for (; h; h = hash_next(h)) {
		struct node *n = container_of(h, struct node, by_name);

		if (n->parent == dir && !strcmp(n->name, name))
			return n;
	}
	return NULL;
}

struct node *node_find(struct node *dir, const char *name)
{
	return node_load(dir) < 0 ? NULL : node_child(dir, name);
}

static int check_room(const struct node *dir)
{
	return dir->depth >= LIMIT_DEPTH ? -ENAMETOOLONG : 0;
}

/* Checks that a moved tree does not become too high, since functions that go through a tree
 * recurse. Loads the tree. depth: of the node, once it is moved. Return: 0, -ENAMETOOLONG
 * or another negative errno. */
static int check_height(struct node *node, unsigned depth)
{
	int r = depth > LIMIT_DEPTH ? -ENAMETOOLONG : node->is_dir ? node_load(node) : 0;

	list_for_each(pos, tmp, &node->children)
		r = r < 0 ? r : check_height(list_entry(pos, struct node, sibling),
					     depth + 1);
	return r;
}

int node_new_path(struct node *dir, const char *name, char *room, size_t size)
{
	int r = check_room(dir);

	if (r == 0)
		r = node_load(dir);
	return r < 0 ? r : node_child_path(dir, name, room, size);
}

/* Handles a file that could not be made. If the failing disk keeps a part of it, the part
 * would block the next file of that name, and the directory's removal: shows the part. */
static int not_made(struct node *dir, const char *path, int r)
{
	struct stat st;

	if (!dir->unlinked &&
	    (fstatat(dir->nodes->jobs_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	     errno != ENOENT))
		node_load_again(dir);
	return r;
}

/* While the fiber waited, dir may have been removed, or its entries loaded. */
int node_made(struct node *dir, const char *name, const char *path, int r,
	      const struct stat *st, struct node **ret_node)
{
	bool is_dir = r == 0 && S_ISDIR(st->st_mode);

	if (r < 0)
		return not_made(dir, path, r);
	if (dir->unlinked)
		return -ESTALE;
	*ret_node = node_child(dir, name);
	if (!*ret_node)
		*ret_node = node_add_child(dir, name, st);
	if (*ret_node)
		return 0;
	store_delete(dir->nodes->store, path, is_dir);
	return not_made(dir, path, -ENOMEM);
}

int node_make_file(struct node *dir, const char *name, mode_t mode, int flags,
		   struct node **ret_node, int *ret_fd)
{
	char path[STORE_PATH_MAX];
	auto_close int fd = -1;
	struct stat st;
	int r = node_new_path(dir, name, path, sizeof(path));

	if (r < 0)
		return r;
	node_ref(dir);
	r = call_make_file(dir->nodes->store, path, flags, mode & 0777, &st,
			   &fd);
	r = node_made(dir, name, path, r, &st, ret_node);
	node_unref(dir);
	if (r < 0)
		return r;
	*ret_fd = take_fd(&fd);
	return 0;
}

int node_make_dir(struct node *dir, const char *name, mode_t mode,
		  struct node **ret_node)
{
	char path[STORE_PATH_MAX];
	struct stat st;
	int r = node_new_path(dir, name, path, sizeof(path));

	if (r < 0)
		return r;
	node_ref(dir);
	r = call_make_dir(dir->nodes->store, path, (mode & 0777) | 0700, &st);
	r = node_made(dir, name, path, r, &st, ret_node);
	node_unref(dir);
	if (r < 0)
		return r;
	(*ret_node)->loaded = true;
	return 0;
}

int node_unlink(struct node *node)
{
	char path[STORE_PATH_MAX];
	int r = node_path(node, path, sizeof(path));

	if (r < 0)
		return r;
	if (node->is_dir && node_has_entries(node))
		return -ENOTEMPTY;
	node_keep_file(node);
	quota_examine(node);
	node_ref(node);
	r = store_delete(node->nodes->store, path, node->is_dir);
	if (!node->unlinked && r == 0)
		detach(node);
	node_unref(node);
	return r;
}

/* Sets owner, area and depth of all nodes below a node that was moved: each has its own
 * copy. */
static void retree(struct node *node)
{
	list_for_each(pos, tmp, &node->children) {
		struct node *n = list_entry(pos, struct node, sibling);

		n->owner = node->owner;
		n->area = node->area;
		n->run = node->run;
		n->depth = node->depth + 1;
		node_keep(n);
		retree(n);
	}
}

/* Sets the inode number for the new name: config.json has a class of numbers of its
 * own. */
static int set_ino(struct node *node, const struct node *dir, const char *name)
{
	uint64_t ino = make_ino(dir, name, (ino_t)INO_REST(node->ino));

	if (ino == node->ino || node->lookups)
		return 0; /* the kernel knows it by this number: keep it */
	hash_del(&node->nodes->by_ino, &node->by_ino);
	node->ino = free_ino(node->nodes, dir, name, ino);
	return hash_add(&node->nodes->by_ino, &node->by_ino,
			hash_u64(node->ino));
}

int node_rename(struct node *node, struct node *dir, const char *name)
{
	char from[STORE_PATH_MAX], to[STORE_PATH_MAX];
	auto_free char *copy = strdup(name);
	int r = copy ? node_load(dir) : -ENOMEM;
	struct node *old = r == 0 ? node_child(dir, name) : NULL;

	if (r < 0)
		return r;
	if (old == node)
		return 0;
	r = node_path(node, from, sizeof(from));
	if (r >= 0)
		r = node_child_path(dir, name, to, sizeof(to));
	if (r >= 0)
		r = check_room(dir);
	if (r >= 0 && dir->depth + 1 > node->depth)
		r = check_height(node, dir->depth + 1);
	if (r < 0)
		return r;
	if (old) {
		node_keep_file(old);
		quota_examine(old);
	}
	r = store_rename(node->nodes->store, from, to, old && !node->is_dir);
	if (r < 0)
		return r;
	if (old)
		detach(old);
	unlink_child(node);
	free(node->name);
	node->name = take_ptr(copy);
	r = set_ino(node, dir, name);
	if (r == 0)
		r = link_child(dir, node);
	node_keep(node);
	retree(node);
	return r;
}
