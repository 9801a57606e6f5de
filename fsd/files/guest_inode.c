/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two indexes of one table: by inode number, and by session and path. A record in
 * shared memory follows each entry that has a path, for the next server. On the loop's
 * thread.
 */
#include "guest_inode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/base/hash.h"
#include "fsd/handover/handover.h"
#include "vm/os/loop.h"
#include "node.h"

/* A file of a sandbox that the kernel has looked up, for the next server. */
struct guest_record {
	uint32_t live;
	uint32_t is_dir;
	uint64_t ino, home;   /* inode number; key of the file tree (home or root) that
			       * has the file */
	uint64_t lookups;
	char path[1000];      /* a file with a longer path has no record */
};

static HANDOVER_TABLE(guest_records, "guest-inodes", 1, struct guest_record, 1u << 18,
		      .zeroed = offsetof(struct guest_record, path));

struct guest_inode {
	struct list node;         /* link in guest_inodes.all */
	struct hash_node by_ino, by_path;
	uint64_t ino, session;
	char *path;               /* owned; NULL: the file is gone, and the number is not
				   * in by_path */
	bool is_dir;
	uint64_t lookups;
	struct guest_record *kept;  /* record for the next server, while the number has a
				     * path */
};

struct guest_inodes {
	struct hash by_ino, by_path;
	struct list all;
	uint64_t last;            /* the last number that was given; each is used once */
	struct handover *handover;  /* borrowed */
};

/* --- for the next server ---------------------------------------------------- */

static void unkeep(struct guest_inodes *all, struct guest_inode *r)
{
	if (r->kept)
		handover_del(all->handover, &guest_records, r->kept);
	r->kept = NULL;
}

static void keep(struct guest_inodes *all, struct guest_inode *r)
{
	struct guest_record *k;
	uint32_t place;

	if (!all->handover || strlen(r->path) >= sizeof(k->path))
		return;
	k = handover_add(all->handover, &guest_records, &place);
	if (!k)
		return;
	k->is_dir = r->is_dir;
	k->ino = r->ino;
	k->home = r->session;
	k->lookups = r->lookups;
	strcpy(k->path, r->path);
	handover_publish(&k->live);
	r->kept = k;
}

/* --- numbers and paths -------------------------------------------------------- */

static uint64_t path_hash(uint64_t session, const char *path)
{
	return hash_text(path, hash_u64(session));
}

static struct guest_inode *by_ino(struct guest_inodes *all, uint64_t ino)
{
	struct hash_node *n = hash_first(&all->by_ino, hash_u64(ino));

	for (; n; n = hash_next(n)) {
		struct guest_inode *r = container_of(n, struct guest_inode, by_ino);

		if (r->ino == ino)
			return r;
	}
	return NULL;
}

static struct guest_inode *by_path(struct guest_inodes *all, uint64_t session,
				   const char *path)
{
	struct hash_node *n = hash_first(&all->by_path,
					 path_hash(session, path));

	for (; n; n = hash_next(n)) {
		struct guest_inode *r = container_of(n, struct guest_inode, by_path);

		if (r->session == session && !strcmp(r->path, path))
			return r;
	}
	return NULL;
}

static void lose_path(struct guest_inodes *all, struct guest_inode *r)
{
	unkeep(all, r);
	if (r->path)
		hash_del(&all->by_path, &r->by_path);
	free(take_ptr(r->path));
}

/* Gives the number another path (consumed); path NULL: none. */
static void take_path(struct guest_inodes *all, struct guest_inode *r, char *path)
{
	lose_path(all, r);
	if (!path)
		return;
	r->path = path;
	if (hash_add(&all->by_path, &r->by_path,
		     path_hash(r->session, path)) < 0)
		free(take_ptr(r->path));
}

static void guest_inode_free(struct guest_inodes *all, struct guest_inode *r)
{
	lose_path(all, r);
	hash_del(&all->by_ino, &r->by_ino);
	list_del(&r->node);
	free(r);
}

static struct guest_inode *guest_inode_new(struct guest_inodes *all, uint64_t ino,
					   uint64_t session, const char *path, bool is_dir)
{
	struct guest_inode *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->ino = ino;
	r->session = session;
	r->is_dir = is_dir;
	if (hash_add(&all->by_ino, &r->by_ino, hash_u64(r->ino)) < 0) {
		free(r);
		return NULL;
	}
	list_add_tail(&all->all, &r->node);
	take_path(all, r, strdup(path));
	if (!r->path) {
		guest_inode_free(all, r);
		return NULL;
	}
	return r;
}

int guest_inodes_new(struct handover *handover, struct guest_inodes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	list_init(&(*ret)->all);
	(*ret)->handover = handover;
	return 0;
}

/* Restores a number from its record. Return: false: the record is not usable. */
static bool adopt(struct guest_inodes *all, struct guest_record *k)
{
	struct guest_inode *r;

	k->path[sizeof(k->path) - 1] = '\0';
	if (INO_CLASS(k->ino) != INO_GUEST || by_ino(all, k->ino) ||
	    by_path(all, k->home, k->path))
		return false;
	r = guest_inode_new(all, k->ino, k->home, k->path, k->is_dir);
	if (!r)
		return false;
	r->lookups = k->lookups;
	r->kept = k;
	all->last = MAX(all->last, INO_REST(k->ino));
	return true;
}

void guest_inodes_adopt(struct guest_inodes *all,
			bool (*is_there)(void *arg, uint64_t session), void *arg)
{
	struct guest_record *k;

	for (uint32_t i = 0; (k = handover_next(all->handover, &guest_records, &i)); )
		if (!is_there(arg, k->home) || !adopt(all, k))
			k->live = 0;
	handover_recycle(all->handover, &guest_records);
}

void guest_inodes_free(struct guest_inodes *all)
{
	if (!all)
		return;
	list_for_each(pos, tmp, &all->all)
		guest_inode_free(all, list_entry(pos, struct guest_inode, node));
	hash_done(&all->by_ino);
	hash_done(&all->by_path);
	free(all);
}

const char *guest_inode_path(struct guest_inodes *all, uint64_t ino,
			     uint64_t *ret_session)
{
	const struct guest_inode *r = by_ino(all, ino);

	if (!r || !r->path)
		return NULL;
	*ret_session = r->session;
	return r->path;
}

bool guest_inode_is_dir(struct guest_inodes *all, uint64_t ino)
{
	const struct guest_inode *r = by_ino(all, ino);

	return r && r->is_dir;
}

static void count_lookups(struct guest_inode *r, uint64_t lookups)
{
	r->lookups = lookups;
	if (r->kept)
		r->kept->lookups = lookups;
}

uint64_t guest_inode_found(struct guest_inodes *all, uint64_t session, const char *path,
			   bool is_dir)
{
	struct guest_inode *r = by_path(all, session, path);

	/* The kernel refuses a number that was a file and becomes a directory, or the
	 * reverse: give the file a new number. */
	if (r && r->is_dir != is_dir) {
		lose_path(all, r);
		r = NULL;
	}
	if (!r) {
		/* The number comes from the clock, as a counter would show each user how
		 * many files others use. */
		all->last = MAX(all->last + 1, now_ns());
		r = guest_inode_new(all, INO_MAKE(INO_GUEST, all->last), session, path,
				    is_dir);
		if (r)
			keep(all, r);
	}
	if (!r)
		return 0;
	count_lookups(r, r->lookups + 1);
	return r->ino;
}

void guest_inode_forget(struct guest_inodes *all, uint64_t ino, uint64_t count)
{
	struct guest_inode *r = by_ino(all, ino);

	if (!r)
		return;
	count_lookups(r, r->lookups - MIN(count, r->lookups));
	if (!r->lookups)
		guest_inode_free(all, r);
}

void guest_inode_gone(struct guest_inodes *all, uint64_t session, const char *path)
{
	struct guest_inode *r = by_path(all, session, path);

	if (r)
		lose_path(all, r);
}

/* Return: true if path is the directory or inside it. */
static bool is_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && (!path[n] || path[n] == '/');
}

/* Return: path after `from` was renamed to `to`, owned by the caller; NULL: the rename
 * does not affect it, or no memory. */
static char *moved_path(const char *path, const char *from, const char *to)
{
	auto_buf struct buf moved = { 0 };

	if (!is_below(path, from))
		return NULL;
	buf_str(&moved, to);
	buf_str(&moved, path + strlen(from));
	return moved.failed ? NULL : take_ptr(moved.data);
}

static bool has_below(const struct guest_inodes *all, uint64_t session,
		      const char *path)
{
	list_for_each(pos, tmp, &((struct guest_inodes *)(uintptr_t)all)->all) {
		const struct guest_inode *r = list_entry(pos, struct guest_inode, node);

		if (r->session == session && r->path && is_below(r->path, path))
			return true;
	}
	return false;
}

void guest_inode_moved(struct guest_inodes *all, uint64_t session, const char *from,
		       const char *to)
{
	/* a rename that a killed server has done already has nothing below `from` */
	if (!strcmp(from, to) || !has_below(all, session, from))
		return;
	guest_inode_gone(all, session, to);
	list_for_each(pos, tmp, &all->all) {
		struct guest_inode *r = list_entry(pos, struct guest_inode, node);
		char *path = r->session == session && r->path
				     ? moved_path(r->path, from, to)
				     : NULL;

		if (!path)
			continue;
		take_path(all, r, path);
		if (r->path)
			keep(all, r);
	}
}

void guest_inode_drop(struct guest_inodes *all, uint64_t session)
{
	if (!all)
		return;
	list_for_each(pos, tmp, &all->all) {
		struct guest_inode *r = list_entry(pos, struct guest_inode, node);

		if (r->session == session)
			guest_inode_free(all, r);
	}
}
