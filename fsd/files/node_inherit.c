/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel asks for files by inode numbers that an earlier server may have given it.
 * For each stored file that the kernel knows there is a record in shared memory with the
 * job that has the file. So the next server finds the file without searching all jobs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/handover/handover.h"
#include "fsd/store/store.h"
#include "node_int.h"
#include "fsd/users/users.h"

static HANDOVER_TABLE(node_records, "nodes", 1, struct node_record, 1u << 24);

#define GONE UINT32_MAX /* a value that no enum node_area has */

/* The part of a number that a rename of the file, or an earlier file with the same
 * number, does not change. */
#define FILE_BITS ((1ull << 48) - 1)

static struct node_record *find(const struct nodes *nodes, uint64_t ino)
{
	uint64_t hash = hash_u64(ino);
	size_t i = hash;
	uint32_t place;

	while (slot_index_next(&nodes->inherited, hash, &i, &place) == 0) {
		struct node_record *kept =
			handover_at(nodes->handover, &node_records, place);

		if (kept && kept->ino == ino)
			return kept;
	}
	return NULL;
}

/* Removes the record from the index, because a node has it now, or because it is about to
 * be freed. */
static void take(struct nodes *nodes, const struct node_record *kept)
{
	slot_index_del(&nodes->inherited, hash_u64(kept->ino),
		   handover_slot(nodes->handover, &node_records, kept));
}

static void look_ahead(const struct nodes *nodes, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const struct node_record *kept =
			handover_at(nodes->handover, &node_records, i);

		if (kept)
			slot_index_prefetch(&nodes->inherited, hash_u64(kept->ino));
	}
}

int node_inherit_begin(struct nodes *nodes)
{
	struct handover *in = nodes->handover;
	uint32_t count = handover_count(in, &node_records);

	if (slot_index_new(&nodes->inherited, count) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct node_record *kept = handover_at(in, &node_records, i);

		if (i % PLACE_AHEAD == 0)
			look_ahead(nodes, i, MIN(i + PLACE_AHEAD, count));
		if (kept && find(nodes, kept->ino))
			kept->live = 0;
		else if (kept)
			slot_index_add(&nodes->inherited, hash_u64(kept->ino), i);
	}
	handover_recycle(in, &node_records);
	return 0;
}

void node_inherit_end(struct nodes *nodes)
{
	slot_index_done(&nodes->inherited);
}

const struct node_record *nodes_inherited(struct nodes *nodes, uint64_t ino)
{
	return find(nodes, ino);
}

/*
 * Return: when the file was made; 0: the file system does not tell. Number and time
 * together identify a file, because the store's file system soon gives the number of a
 * deleted file to a new one.
 */
static uint32_t born(const struct nodes *nodes, const char *path)
{
	struct statx st;

	if (statx(nodes->jobs_fd, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) <
		    0 ||
	    !(st.stx_mask & STATX_BTIME))
		return 0;
	return (uint32_t)hash_u64((uint64_t)st.stx_btime.tv_sec * NS_PER_S +
				  st.stx_btime.tv_nsec) |
	       1;
}

static bool was_born(const struct node_record *kept, uint32_t when)
{
	return !kept->born || !when || kept->born == when;
}

static uint32_t born_of(const struct node *node)
{
	char path[STORE_PATH_MAX];

	return node_path(node, path, sizeof(path)) < 0
		       ? 0
		       : born(node->nodes, path);
}

bool node_is_others(struct nodes *nodes, const struct node *dir,
		    const char *name, uint64_t ino)
{
	const struct node_record *kept = find(nodes, ino);
	char path[STORE_PATH_MAX];

	if (!kept)
		return false;
	if (kept->area == GONE || !dir || !dir->owner ||
	    kept->job != dir->owner->meta->no)
		return true;
	return node_child_path(dir, name, path, sizeof(path)) == 0 &&
	       !was_born(kept, born(nodes, path));
}

void nodes_gone(struct nodes *nodes, uint64_t ino)
{
	struct node_record *kept = find(nodes, ino);

	if (kept)
		kept->area = GONE;
}

void nodes_forget(struct nodes *nodes, uint64_t ino, uint64_t count)
{
	struct node_record *kept = find(nodes, ino);

	if (!kept)
		return;
	kept->lookups -= MIN(count, kept->lookups);
	if (kept->lookups)
		return; /* the kernel has looked it up again meanwhile */
	take(nodes, kept);
	handover_del(nodes->handover, &node_records, kept);
}

/* Searches a tree for an inode number. Return: 0; -ENOENT: the tree does not have it;
 * another errno: a directory that could not be read may have it. */
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

/* Gives the node the record of its number, with the lookups that earlier servers have
 * answered. */
static void take_record(struct node *node)
{
	node->kept = find(node->nodes, node->ino);
	if (!node->kept)
		return;
	take(node->nodes, node->kept);
	node->lookups += node->kept->lookups;
}

int node_adopt(struct node *root, uint64_t ino, struct node **ret)
{
	const struct node_record *kept = find(root->nodes, ino);
	struct node *n;
	int r = search(root, ino, &n);

	if (r < 0)
		return r;
	if (kept && !was_born(kept, born_of(n)))
		return -ENOENT;
	if (!n->lookups) {
		node_renumber(n, ino);
		take_record(n);
	}
	if (!n->kept || !n->lookups)
		n->lookups++; /* without a record: at least one, as the kernel will
			       * send a FORGET */
	node_keep(n);
	*ret = n;
	return 0;
}

int node_adopt_unlinked(struct nodes *nodes, uint64_t ino, struct node **ret)
{
	struct node_record *kept = find(nodes, ino);
	char path[STORE_ID_SIZE + sizeof(STORE_UNLINKED)];
	struct stat st;
	struct node *n;

	snprintf(path, sizeof(path), STORE_UNLINKED NODE_UNLINKED_FMT, ino);
	if (!kept || kept->area > AREA_REMOVED ||
	    fstatat(nodes->jobs_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -ENOENT;
	n = node_new_unlinked(nodes, ino, S_ISDIR(st.st_mode));
	if (!n)
		return -ENOMEM;
	n->is_link = S_ISLNK(st.st_mode);
	n->renamed = true;
	n->area = (enum node_area)kept->area;
	n->lookups = MAX(kept->lookups, 1);
	n->kept = kept;
	take(nodes, kept);
	quota_gone(n, quota_user(users_quota(nodes->users), kept->uid));
	*ret = n;
	return 0;
}

void node_keep(struct node *node)
{
	struct nodes *nodes = node->nodes;
	uint32_t place;

	if (node->kept)
		node->kept->lookups = node->lookups;
	if (!node->lookups || !node->owner)
		return;
	if (!node->kept)
		take_record(node);
	if (!node->kept) {
		node->kept = handover_add(nodes->handover, &node_records, &place);
		if (!node->kept)
			return; /* the next server will answer ESTALE for its number */
		node->kept->born = born_of(node);
	}
	node->kept->ino = node->ino;
	node->kept->job = node->owner->meta->no;
	node->kept->uid = node->owner->meta->uid;
	node->kept->area = node->area;
	node->kept->run = node->run;
	node->kept->lookups = node->lookups;
	handover_publish(&node->kept->live);
}

void node_gone(struct node *node)
{
	if (node->kept && !node->renamed)
		node->kept->area = GONE;
}

void node_unkeep(struct node *node)
{
	if (node->kept)
		handover_del(node->nodes->handover, &node_records,
			    take_ptr(node->kept));
}
