/* SPDX-License-Identifier: Apache-2.0 */
/* Finds sandboxes, and says whose they are. */
#include "sandbox_int.h"

#include <string.h>

bool sandbox_is_for(const struct sandbox *s, uid_t uid)
{
	return s->uid == uid || uid == 0;
}

static struct sandbox *find(struct fsd *d, uid_t uid, bool any,
			    const char *name)
{
	list_for_each(pos, tmp, &d->sandboxes) {
		struct sandbox *s = list_entry(pos, struct sandbox, node);

		if ((any || s->uid == uid) && !strcmp(s->name, name))
			return s;
	}
	return NULL;
}

struct sandbox *sandboxes_find(struct fsd *d, uid_t uid, const char *name)
{
	struct sandbox *own = find(d, uid, false, name);

	return own || uid ? own : find(d, uid, true, name);
}

struct sandbox *sandboxes_by_no(struct fsd *d, uint64_t no)
{
	list_for_each(pos, tmp, &d->sandboxes) {
		struct sandbox *s = list_entry(pos, struct sandbox, node);

		if (s->no == no)
			return s;
	}
	return NULL;
}

void sandboxes_list(struct fsd *d, uid_t uid,
		    void (*fn)(void *arg, const char *name, uint64_t no),
		    void *arg)
{
	list_for_each(pos, tmp, &d->sandboxes) {
		struct sandbox *s = list_entry(pos, struct sandbox, node);

		/* Two users may have chosen one name: root sees one. */
		if (sandbox_is_for(s, uid) &&
		    sandboxes_find(d, uid, s->name) == s)
			fn(arg, s->name, s->no);
	}
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
