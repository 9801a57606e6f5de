/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two indexes of one table: by inode number, and by session and path. A record in
 * shared memory follows each entry that has a path, for the next server. On the loop's
 * thread.
 */
#include "remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/base/hash.h"
#include "fsd/handover/inherit.h"
#include "node.h"

struct remote {
	struct list node;         /* in remotes->all */
	struct hash_node by_ino, by_path;
	uint64_t ino, session;
	char *path;               /* owned; NULL: it has none, nor by_path */
	bool is_dir;
	uint64_t lookups;
	struct inherit_remote *kept; /* for the next server, while it has a path */
};

struct remotes {
	struct hash by_ino, by_path;
	struct list all;
	uint64_t last;            /* number given: none is used twice */
	struct inherit *inherit;  /* borrowed */
};

/* --- for the next server ---------------------------------------------------- */

static void unkeep(struct remotes *all, struct remote *r)
{
	if (r->kept)
		inherit_del(all->inherit, INHERIT_REMOTES, r->kept);
	r->kept = NULL;
}

static void keep(struct remotes *all, struct remote *r)
{
	struct inherit_remote *k;
	uint32_t place;

	if (!all->inherit || strlen(r->path) >= sizeof(k->path))
		return;
	k = inherit_add(all->inherit, INHERIT_REMOTES, &place);
	if (!k)
		return;
	k->is_dir = r->is_dir;
	k->ino = r->ino;
	k->home = r->session;
	k->lookups = r->lookups;
	strcpy(k->path, r->path);
	inherit_publish(&k->live);
	r->kept = k;
}

/* --- numbers and paths -------------------------------------------------------- */

static uint64_t path_hash(uint64_t session, const char *path)
{
	return hash_text(path, hash_u64(session));
}

static struct remote *by_ino(struct remotes *all, uint64_t ino)
{
	struct hash_node *n = hash_first(&all->by_ino, hash_u64(ino));

	for (; n; n = hash_next(n)) {
		struct remote *r = container_of(n, struct remote, by_ino);

		if (r->ino == ino)
			return r;
	}
	return NULL;
}

static struct remote *by_path(struct remotes *all, uint64_t session,
			      const char *path)
{
	struct hash_node *n = hash_first(&all->by_path,
					 path_hash(session, path));

	for (; n; n = hash_next(n)) {
		struct remote *r = container_of(n, struct remote, by_path);

		if (r->session == session && !strcmp(r->path, path))
			return r;
	}
	return NULL;
}

static void lose_path(struct remotes *all, struct remote *r)
{
	unkeep(all, r);
	if (r->path)
		hash_del(&all->by_path, &r->by_path);
	free(take_ptr(r->path));
}

/* Consumes path. */
static void take_path(struct remotes *all, struct remote *r, char *path)
{
	lose_path(all, r);
	if (!path)
		return;
	r->path = path;
	if (hash_add(&all->by_path, &r->by_path,
		     path_hash(r->session, path)) < 0)
		free(take_ptr(r->path));
}

static void remote_free(struct remotes *all, struct remote *r)
{
	lose_path(all, r);
	hash_del(&all->by_ino, &r->by_ino);
	list_del(&r->node);
	free(r);
}

static struct remote *remote_new(struct remotes *all, uint64_t ino,
				 uint64_t session, const char *path, bool is_dir)
{
	struct remote *r = calloc(1, sizeof(*r));

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
		remote_free(all, r);
		return NULL;
	}
	return r;
}

int remotes_new(struct inherit *inherit, struct remotes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	list_init(&(*ret)->all);
	(*ret)->inherit = inherit;
	return 0;
}

/* Return: false: the record is of no use. */
static bool adopt(struct remotes *all, struct inherit_remote *k)
{
	struct remote *r;

	k->path[sizeof(k->path) - 1] = '\0';
	if (INO_CLASS(k->ino) != INO_REMOTE || by_ino(all, k->ino) ||
	    by_path(all, k->home, k->path))
		return false;
	r = remote_new(all, k->ino, k->home, k->path, k->is_dir);
	if (!r)
		return false;
	r->lookups = k->lookups;
	r->kept = k;
	all->last = MAX(all->last, INO_REST(k->ino));
	return true;
}

void remotes_adopt(struct remotes *all,
		   bool (*is_there)(void *arg, uint64_t session), void *arg)
{
	struct inherit *in = all->inherit;

	for (uint32_t i = 0; i < inherit_count(in, INHERIT_REMOTES); i++) {
		struct inherit_remote *k = inherit_at(in, INHERIT_REMOTES, i);

		if (k && (!is_there(arg, k->home) || !adopt(all, k)))
			k->live = 0;
	}
	inherit_recycle(in, INHERIT_REMOTES);
}

void remotes_free(struct remotes *all)
{
	if (!all)
		return;
	list_for_each(pos, tmp, &all->all)
		remote_free(all, list_entry(pos, struct remote, node));
	hash_done(&all->by_ino);
	hash_done(&all->by_path);
	free(all);
}

const char *remote_path(struct remotes *all, uint64_t ino,
			uint64_t *ret_session)
{
	const struct remote *r = by_ino(all, ino);

	if (!r || !r->path)
		return NULL;
	*ret_session = r->session;
	return r->path;
}

bool remote_is_dir(struct remotes *all, uint64_t ino)
{
	const struct remote *r = by_ino(all, ino);

	return r && r->is_dir;
}

static void count_lookups(struct remote *r, uint64_t lookups)
{
	r->lookups = lookups;
	if (r->kept)
		r->kept->lookups = lookups;
}

uint64_t remote_found(struct remotes *all, uint64_t session, const char *path,
		      bool is_dir)
{
	struct remote *r = by_path(all, session, path);

	/* The kernel takes it ill when a number becomes another kind's. */
	if (r && r->is_dir != is_dir) {
		lose_path(all, r);
		r = NULL;
	}
	if (!r) {
		/* By the clock: a counter would tell each user of the others'
		 * files. */
		all->last = MAX(all->last + 1, now_ns());
		r = remote_new(all, INO_MAKE(INO_REMOTE, all->last), session, path,
			       is_dir);
		if (r)
			keep(all, r);
	}
	if (!r)
		return 0;
	count_lookups(r, r->lookups + 1);
	return r->ino;
}

void remote_forget(struct remotes *all, uint64_t ino, uint64_t count)
{
	struct remote *r = by_ino(all, ino);

	if (!r)
		return;
	count_lookups(r, r->lookups - MIN(count, r->lookups));
	if (!r->lookups)
		remote_free(all, r);
}

void remote_gone(struct remotes *all, uint64_t session, const char *path)
{
	struct remote *r = by_path(all, session, path);

	if (r)
		lose_path(all, r);
}

/* Is it the directory, or in it? */
static bool is_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && (!path[n] || path[n] == '/');
}

/* "from" or "from/rest" as it is called below to, owned by the caller. */
static char *moved_path(const char *path, const char *from, const char *to)
{
	auto_buf struct buf moved = { 0 };

	if (!is_below(path, from))
		return NULL;
	buf_str(&moved, to);
	buf_str(&moved, path + strlen(from));
	return moved.failed ? NULL : take_ptr(moved.data);
}

static bool has_below(const struct remotes *all, uint64_t session,
		      const char *path)
{
	list_for_each(pos, tmp, &((struct remotes *)(uintptr_t)all)->all) {
		const struct remote *r = list_entry(pos, struct remote, node);

		if (r->session == session && r->path && is_below(r->path, path))
			return true;
	}
	return false;
}

void remote_moved(struct remotes *all, uint64_t session, const char *from,
		  const char *to)
{
	/* One that is done again, for a server that was killed, finds none. */
	if (!strcmp(from, to) || !has_below(all, session, from))
		return;
	remote_gone(all, session, to);
	list_for_each(pos, tmp, &all->all) {
		struct remote *r = list_entry(pos, struct remote, node);
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

void remote_drop(struct remotes *all, uint64_t session)
{
	if (!all)
		return;
	list_for_each(pos, tmp, &all->all) {
		struct remote *r = list_entry(pos, struct remote, node);

		if (r->session == session)
			remote_free(all, r);
	}
}
