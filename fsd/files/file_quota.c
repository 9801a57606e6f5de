/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts jobs, runs and stored files. A job has a sum for each of its areas, so a whole
 * tree is subtracted without reading it. The size of a file is read when the file is
 * first about to change.
 */
#include "file_quota.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "fsd/store/store.h"
#include "fsd/users/users.h"
#include "node_int.h"

_Static_assert(QUOTA_AREAS == AREA_REMOVED + 1, "one sum for each area");

static void add(struct quota_share *s, unsigned area, uint64_t more)
{
	if (!quota_has_bytes(s->user))
		return;
	s->bytes[area] += more;
	quota_count_bytes(s->user, more);
}

/* --- jobs --------------------------------------------------------------- */

static uint64_t run_bytes(const struct file_owner *owner)
{
	char run[16];

	snprintf(run, sizeof(run), "r%u", owner->meta->run);
	return store_count(owner->nodes->store, owner->meta->no, run,
			   ORDER_FILE);
}

int quota_job_begin(struct file_owner *owner, bool loaded, bool sink)
{
	struct quota_share *s = &owner->quota;
	struct store *store = owner->nodes->store;
	struct quota *quota = users_quota(owner->nodes->users);
	const struct job_meta *m = owner->meta;
	char removed[40];

	s->user = quota_user(quota, m->uid);
	if (quota && !s->user)
		return -ENOMEM;
	quota_count_job(s->user, 1);
	if (!loaded || !quota_has_bytes(s->user))
		return 0;
	if (sink)
		add(s, AREA_SINK, store_count(store, m->no, "sink", ""));
	else
		store_sink_drop(store, m->no); /* an earlier server left sink/; users do
					        * not see it any more */
	add(s, AREA_FILES, store_count(store, m->no, "files", ""));
	add(s, AREA_OUTPUT, run_bytes(owner));
	snprintf(removed, sizeof(removed), "removed.%" PRIu64, m->queued_no);
	add(s, AREA_REMOVED, store_count(store, m->no, removed, ""));
	return 0;
}

/* Call it when the run's results are removed: the open ones count for the user from now
 * on. All open files of one `vfile` are the same file, which counts once. */
static void orphan_open(struct file_owner *owner)
{
	struct quota_user *u = owner->quota.user;
	struct quota_open *first;
	struct stat st;

	while ((first = list_first(&owner->open, struct quota_open, node))) {
		list_del(&first->node);
		first->payer = u;
		first->size = fstat(first->fd, &st) < 0 ? 0
							: (uint64_t)st.st_size;
		quota_count_bytes(u, first->size);
		list_for_each(pos, tmp, &owner->open) {
			struct quota_open *o =
				list_entry(pos, struct quota_open, node);

			if (o->vfile != first->vfile)
				continue;
			list_del(&o->node);
			list_add(&first->node, &o->node);
			o->payer = u;
			o->size = first->size;
		}
	}
}

void quota_area_end(struct file_owner *owner, unsigned area)
{
	add(&owner->quota, area, -owner->quota.bytes[area]);
	if (area == AREA_OUTPUT)
		orphan_open(owner);
}

void quota_job_end(struct file_owner *owner)
{
	for (unsigned i = 0; i < QUOTA_AREAS; i++)
		quota_area_end(owner, i);
	quota_count_job(owner->quota.user, -1);
	owner->quota.user = NULL;
}

void quota_gone_begin(struct file_owner *owner)
{
	owner->quota.user = quota_user(users_quota(owner->nodes->users),
				       owner->meta->uid);
}

void quota_gone_end(struct file_owner *owner)
{
	orphan_open(owner);
	owner->quota.user = NULL;
}

void quota_unpublish(struct file_owner *owner)
{
	struct stat st;

	if (store_run_stat(owner->nodes->store, owner->meta->no,
			   owner->meta->run, "result.json", &st) == 0)
		quota_run_sub(owner, (uint64_t)st.st_size);
}

/* --- runs --------------------------------------------------------------- */

uint64_t quota_run_room(const struct file_owner *owner)
{
	return quota_left(owner->quota.user);
}

void quota_run_add(struct file_owner *owner, uint64_t bytes)
{
	add(&owner->quota, AREA_OUTPUT, bytes);
}

void quota_run_sub(struct file_owner *owner, uint64_t bytes)
{
	add(&owner->quota, AREA_OUTPUT, -bytes);
}

void quota_run_recount(struct file_owner *owner)
{
	if (quota_has_bytes(owner->quota.user))
		add(&owner->quota, AREA_OUTPUT,
		    run_bytes(owner) - owner->quota.bytes[AREA_OUTPUT]);
}

void quota_opened(struct file_owner *owner, struct quota_open *o, unsigned vfile,
		  int fd)
{
	if (fd < 0 || !quota_has_bytes(owner->quota.user))
		return;
	o->vfile = vfile;
	o->fd = fd;
	list_add_tail(&owner->open, &o->node);
}

void quota_done_with(struct quota_open *o)
{
	if (o->payer && list_empty(&o->node)) /* the last one */
		quota_count_bytes(o->payer, -o->size);
	list_del(&o->node);
}

/* --- files -------------------------------------------------------------- */

static struct quota_user *quota_user_of(const struct node *node)
{
	struct quota_user *u = node->owner ? node->owner->quota.user
					 : node->quota.payer;

	return quota_has_bytes(u) && !node->is_dir ? u : NULL;
}

static void set_size(struct node *node, uint64_t size)
{
	uint64_t more = size - node->quota.size;

	if (node->owner)
		add(&node->owner->quota, node->area, more);
	else
		quota_count_bytes(node->quota.payer, more);
	node->quota.size = size;
}

void quota_examine(struct node *node)
{
	struct stat st;

	if (!quota_user_of(node) || node->quota.known || node_stat(node, &st) < 0)
		return;
	node->quota.size = (uint64_t)st.st_size;
	node->quota.known = true;
}

void quota_settle(struct node *node)
{
	struct stat st;

	if (quota_user_of(node) && node->quota.known && !node->quota.writing &&
	    node_stat(node, &st) == 0)
		set_size(node, (uint64_t)st.st_size);
}

void quota_made(struct node *node)
{
	node->quota.known = true;
	quota_settle(node);
}

int quota_check_create(const struct node *dir, struct err *err)
{
	const struct quota_user *u = dir->owner ? dir->owner->quota.user : NULL;

	return quota_left(u) ? 0 : quota_check_bytes(u, 1, err);
}

int quota_resize(struct node *node, uint64_t size, struct err *err)
{
	const struct quota_user *u = quota_user_of(node);
	int r = 0;

	if (!u)
		return 0;
	quota_examine(node);
	if (size > node->quota.size)
		r = quota_check_bytes(u, size - node->quota.size, err);
	if (r == 0 && size > node->quota.size)
		set_size(node, size);
	return r;
}

int quota_write_begin(struct node *node, int fd, uint64_t off, size_t size,
		      struct err *err)
{
	int flags, r;

	if (!quota_user_of(node))
		return 0;
	quota_examine(node);
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && (flags & O_APPEND))
		off = node->quota.size;
	r = quota_resize(node, off + size, err);
	if (r == 0)
		node->quota.writing++;
	return r;
}

void quota_write_end(struct node *node)
{
	if (!node->quota.writing || --node->quota.writing)
		return;
	quota_settle(node);
}

/* --- names that go and come --------------------------------------------- */

void quota_unlinked(struct node *node)
{
	struct quota_user *u = quota_user_of(node);
	struct quota_file *f = &node->quota;

	if (!u || !node->owner || !f->known)
		return;
	add(&node->owner->quota, node->area, -f->size);
	if (!node->refs)
		return;
	f->payer = u;
	quota_count_bytes(u, f->size);
}

void quota_orphan(struct node *node)
{
	struct quota_user *u = node->refs && node->owner ? quota_user_of(node) : NULL;

	if (!u)
		return;
	quota_examine(node);
	node->quota.payer = u;
	quota_count_bytes(u, node->quota.size);
}

void quota_closed(struct node *node)
{
	struct quota_user *payer = take_ptr(node->quota.payer);

	if (payer)
		quota_count_bytes(payer, -node->quota.size);
}

void quota_gone(struct node *node, struct quota_user *u)
{
	node->quota.payer = u;
	quota_examine(node);
	if (quota_user_of(node))
		quota_count_bytes(u, node->quota.size);
	else
		node->quota.payer = NULL;
}

/* Sums the sizes below node. Loaded nodes whose size is known need no disk. */
static int tree_bytes(struct node *node, uint64_t *sum)
{
	int r = node->is_dir ? node_load(node) : 0;

	if (!node->is_dir) {
		quota_examine(node);
		*sum += node->quota.size;
		return 0;
	}
	list_for_each(pos, tmp, &node->children)
		if (r == 0)
			r = tree_bytes(list_entry(pos, struct node, sibling),
				       sum);
	return r;
}

/* Return: the bytes that the owner of old gets back at once when old is replaced: none
 * for an open file, which counts until it is closed. */
static uint64_t replaced_bytes(struct node *old)
{
	if (!old || old->is_dir || old->refs)
		return 0;
	quota_examine(old);
	return old->quota.size;
}

int quota_move_begin(struct quota_move *m, struct node *node,
		     const struct node *dir, struct node *old,
		     struct err *err)
{
	struct quota_share *from = &node->owner->quota;
	uint64_t back = replaced_bytes(old);
	int r;

	*m = (struct quota_move){ .area = node->area };
	if (!quota_has_bytes(from->user) ||
	    (node->owner == dir->owner && node->area == dir->area))
		return 0;
	r = tree_bytes(node, &m->bytes);
	if (r == 0 && from->user != dir->owner->quota.user)
		r = quota_check_bytes(dir->owner->quota.user,
				      m->bytes - MIN(back, m->bytes), err);
	if (r == 0)
		m->from = from;
	return r;
}

void quota_move_end(const struct quota_move *m, const struct node *node)
{
	if (!m->from)
		return;
	add(m->from, m->area, -m->bytes);
	add(&node->owner->quota, node->area, m->bytes);
}
