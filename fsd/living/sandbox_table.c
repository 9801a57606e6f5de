/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of sandboxes and sessions: finds them by name, by number and by the key of
 * their files; lists them; returns their fields. The file owns the hashes by_no and
 * by_name. All functions run on the loop; none waits.
 */
#include "sandbox_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/files/guest_inode.h"
#include "fsd/users/seen_name.h"
#include "machine_files.h"

bool sandbox_is_there(const struct sandbox *s)
{
	return s->stage == STAGE_LIVES;
}

uint64_t sandbox_idle_since(const struct sandbox *s)
{
	return s->stage == STAGE_LIVES && (s->paused_ns || !sandbox_is_in_use(s))
		       ? s->used_ns : 0;
}

bool sandbox_is_single(const struct sandbox *s)
{
	return s->single;
}

const char *sandbox_kind(const struct sandbox *s)
{
	return s->single ? "session" : "sandbox";
}

const struct job_config *sandbox_machine(const struct sandbox *s)
{
	return s->asked ? &s->asked->config : &s->config.machine;
}

bool sandbox_is_in_use(const struct sandbox *s)
{
	return !list_empty(&s->runs) || !list_empty(&s->waiters);
}

bool sandbox_is_for(const struct sandbox *s, uid_t uid)
{
	return s->uid == uid || uid == 0;
}

/* --- the index ------------------------------------------------------------------ */

int sandbox_index(struct sandbox *s)
{
	struct fsd *d = s->d;
	int r = hash_add(&d->sandboxes->by_no, &s->by_no, hash_u64(s->no));

	if (r < 0)
		return r;
	r = hash_add(&d->sandboxes->by_name, &s->by_name,
		     hash_text(s->name, 0));
	if (r < 0) {
		hash_del(&d->sandboxes->by_no, &s->by_no);
		return r;
	}
	s->indexed = true;
	return 0;
}

unsigned sandboxes_of(struct fsd *d, uid_t uid)
{
	unsigned count = 0;

	list_for_each(pos, tmp, &d->sandboxes->all) {
		const struct sandbox *s = list_entry(pos, struct sandbox, node);

		count += s->indexed && !s->single && s->uid == uid;
	}
	return count;
}

void sandbox_unindex(struct sandbox *s)
{
	if (!s->indexed)
		return;
	s->indexed = false;
	hash_del(&s->d->sandboxes->by_no, &s->by_no);
	hash_del(&s->d->sandboxes->by_name, &s->by_name);
}

struct sandbox *sandbox_find_own(struct fsd *d, uid_t uid, const char *name,
				 bool single)
{
	struct hash_node *h = hash_first(&d->sandboxes->by_name,
					 hash_text(name, 0));

	for (; h; h = hash_next(h)) {
		struct sandbox *s = container_of(h, struct sandbox, by_name);

		if (s->single == single && s->uid == uid &&
		    !strcmp(s->name, name))
			return s;
	}
	return NULL;
}

/* Return: the oldest of this name, of any user; for root. */
static struct sandbox *find_any(struct fsd *d, const char *name, bool single)
{
	struct hash_node *h = hash_first(&d->sandboxes->by_name,
					 hash_text(name, 0));
	struct sandbox *oldest = NULL;

	for (; h; h = hash_next(h)) {
		struct sandbox *s = container_of(h, struct sandbox, by_name);

		if (s->single == single && !strcmp(s->name, name) &&
		    (!oldest || s->no < oldest->no))
			oldest = s;
	}
	return oldest;
}

struct sandbox *sandboxes_find(struct fsd *d, uid_t uid, const char *name,
			       bool single)
{
	struct sandbox *s = sandbox_find_own(d, uid, name, single);
	char theirs[LIMIT_JOB_NAME + 1];
	uid_t owner;

	if (s || uid)
		return s;
	if (seen_name_parse(name, theirs, &owner))
		s = sandbox_find_own(d, owner, theirs, single);
	return s ? s : find_any(d, name, single);
}

struct sandbox *sandboxes_by_no(struct fsd *d, uint64_t no)
{
	struct hash_node *h = hash_first(&d->sandboxes->by_no, hash_u64(no));

	for (; h; h = hash_next(h)) {
		struct sandbox *s = container_of(h, struct sandbox, by_no);

		if (s->no == no)
			return s;
	}
	return NULL;
}

void sandboxes_list(struct fsd *d, uid_t uid, bool single,
		    void (*fn)(void *arg, const char *name, uint64_t no),
		    void *arg)
{
	char room[SEEN_NAME_MAX];

	list_for_each(pos, tmp, &d->sandboxes->all) {
		struct sandbox *s = list_entry(pos, struct sandbox, node);

		if (s->single != single || !sandbox_is_for(s, uid))
			continue;
		fn(arg, sandboxes_find(d, uid, s->name, single) == s
				? s->name : seen_name(s->name, s->uid, room),
		   s->no);
	}
}

int sandboxes_new(struct sandboxes **ret)
{
	struct sandboxes *all = calloc(1, sizeof(*all));

	*ret = all;
	if (!all)
		return -ENOMEM;
	list_init(&all->all);
	return 0;
}

void sandboxes_free(struct sandboxes *all)
{
	if (!all)
		return;
	hash_done(&all->by_no);
	hash_done(&all->by_name);
	hash_done(&all->seats_by_no);
	hash_done(&all->files_by_no);
	free(all);
}

uint64_t sandbox_no(const struct sandbox *s)
{
	return s->no;
}

const char *sandbox_name(const struct sandbox *s)
{
	return s->name;
}

uid_t sandbox_uid(const struct sandbox *s)
{
	return s->uid;
}

gid_t sandbox_gid(const struct sandbox *s)
{
	return s->gid;
}

uint64_t sandbox_made_ns(const struct sandbox *s)
{
	return s->made_ns;
}

/* --- by the key of its files ---------------------------------------------------- */

bool machine_files_find(struct fsd *d, uint64_t key, struct machine_files *ret)
{
	struct sandbox *s = sandboxes_by_no(d, key & ~GUEST_ROOT);

	*ret = (struct machine_files){ .sandbox = s };
	if (!s)
		return false;
	ret->name = sandbox_name(s);
	ret->uid = sandbox_uid(s);
	ret->gid = sandbox_gid(s);
	ret->tree = key & GUEST_ROOT ? WIRE_FS_ROOT : WIRE_FS_HOME;
	return true;
}

bool machine_files_are_kept(void *d, uint64_t key)
{
	struct machine_files h;

	return machine_files_find(d, key, &h) && sandbox_is_there(h.sandbox);
}

bool machine_files_are_for(const struct machine_files *h, uid_t uid)
{
	return h->uid == uid || uid == 0;
}
