/* SPDX-License-Identifier: Apache-2.0 */
/* Finds sandboxes, and says whose they are and who holds them. */
#include "sandbox_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/users/people.h"
#include "fsd/users/seen_name.h"

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
	s->owner = person_of(d->users, s->uid);
	if (s->owner)
		s->owner->sandboxes++;
	s->indexed = true;
	return 0;
}

void sandbox_unindex(struct sandbox *s)
{
	if (!s->indexed)
		return;
	s->indexed = false;
	hash_del(&s->d->sandboxes->by_no, &s->by_no);
	hash_del(&s->d->sandboxes->by_name, &s->by_name);
	if (s->owner)
		s->owner->sandboxes--;
}

static struct sandbox *find_own(struct fsd *d, uid_t uid, const char *name)
{
	struct hash_node *h = hash_first(&d->sandboxes->by_name,
					 hash_text(name, 0));

	for (; h; h = hash_next(h)) {
		struct sandbox *s = container_of(h, struct sandbox, by_name);

		if (s->uid == uid && !strcmp(s->name, name))
			return s;
	}
	return NULL;
}

/* The oldest of any user. */
static struct sandbox *find_any(struct fsd *d, const char *name)
{
	struct hash_node *h = hash_first(&d->sandboxes->by_name,
					 hash_text(name, 0));
	struct sandbox *oldest = NULL;

	for (; h; h = hash_next(h)) {
		struct sandbox *s = container_of(h, struct sandbox, by_name);

		if (!strcmp(s->name, name) && (!oldest || s->no < oldest->no))
			oldest = s;
	}
	return oldest;
}

struct sandbox *sandboxes_find(struct fsd *d, uid_t uid, const char *name)
{
	struct sandbox *s = find_own(d, uid, name);
	char theirs[LIMIT_JOB_NAME + 1];
	uid_t owner;

	if (s || uid)
		return s;
	if (seen_name_parse(name, theirs, &owner))
		s = find_own(d, owner, theirs);
	return s ? s : find_any(d, name);
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

void sandboxes_list(struct fsd *d, uid_t uid,
		    void (*fn)(void *arg, const char *name, uint64_t no),
		    void *arg)
{
	char room[SEEN_NAME_MAX];

	list_for_each(pos, tmp, &d->sandboxes->all) {
		struct sandbox *s = list_entry(pos, struct sandbox, node);

		if (!sandbox_is_for(s, uid))
			continue;
		fn(arg, sandboxes_find(d, uid, s->name) == s
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

/* --- who holds it ------------------------------------------------------------------ */

void sandbox_hold(struct sandbox *s)
{
	s->held = true;
	sandbox_keep(s);
}

void sandbox_held_more(struct sandbox *s)
{
	s->holders++;
}

void sandbox_held_less(struct sandbox *s)
{
	if (--s->holders || !s->held)
		return;
	log_debug("sandbox %s: nobody holds it any more", s->name);
	sandbox_end(s);
}
