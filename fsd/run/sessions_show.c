/* SPDX-License-Identifier: Apache-2.0 */
/* Finds sessions, and says what they are and whether they are in use. */
#include "sessions_int.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fsd/users/seen_name.h"

bool session_is_busy(const struct session *s)
{
	return s->current || !list_empty(&s->waiting);
}

struct session *sessions_next(struct fsd *d, struct session *s)
{
	struct list *next = s ? s->node.next : d->sessions->all.next;

	return next == &d->sessions->all
		       ? NULL
		       : list_entry(next, struct session, node);
}

bool session_has_machine(const struct session *s)
{
	return s->hold.sched;
}

uint64_t session_idle_since(const struct session *s)
{
	return s->hold.sched && s->idle.loop && !session_is_busy(s) && !s->ending &&
			       !sched_has_steps(s->d->sched, s->uid, s->name)
		       ? s->idle_since_ns : 0;
}

/* --- what .fsd/sessions shows ------------------------------------------------------ */

bool session_is_for(const struct session *s, uid_t uid)
{
	return s->uid == uid || uid == 0;
}

struct session *sessions_find(struct fsd *d, uid_t uid, const char *name)
{
	struct session *found = session_find_own(d, uid, name);
	char theirs[LIMIT_JOB_NAME + 1];
	uid_t owner;

	if (!found && !uid && seen_name_parse(name, theirs, &owner))
		found = session_find_own(d, owner, theirs);
	if (found || uid)
		return found;
	list_for_each(pos, tmp, &d->sessions->all) {
		struct session *s = list_entry(pos, struct session, node);

		if (!s->ending && session_is_for(s, uid) &&
		    !strcmp(s->name, name))
			return s;
	}
	return NULL;
}

struct session *sessions_by_no(struct fsd *d, uint64_t no)
{
	list_for_each(pos, tmp, &d->sessions->all) {
		struct session *s = list_entry(pos, struct session, node);

		if (s->no == no && !s->ending)
			return s;
	}
	return NULL;
}

void sessions_list(struct fsd *d, uid_t uid,
		   void (*fn)(void *arg, const char *name, uint64_t no),
		   void *arg)
{
	char room[SEEN_NAME_MAX];

	list_for_each(pos, tmp, &d->sessions->all) {
		struct session *s = list_entry(pos, struct session, node);

		if (s->ending || !session_is_for(s, uid))
			continue;
		fn(arg, sessions_find(d, uid, s->name) == s
				? s->name : seen_name(s->name, s->uid, room),
		   s->no);
	}
}

uint64_t session_no(const struct session *s)
{
	return s->no;
}

const char *session_name(const struct session *s)
{
	return s->name;
}

uid_t session_uid(const struct session *s)
{
	return s->uid;
}

gid_t session_gid(const struct session *s)
{
	return s->gid;
}

int session_fs(struct session *s, const struct wire_fs *fs, vm_fs_done *done,
	       void *arg)
{
	int r = s->lease && !s->ending ? vm_fs(s->lease, fs, done, arg)
				       : -ESTALE;

	if (r == 0 && s->idle.loop) {
		loop_timer_del(&s->idle);
		session_rest(s);
	}
	return r;
}

static int field_state(const struct session *s, struct buf *out)
{
	return buf_fmt(out, "%s\n", session_is_busy(s) ? "busy"
				    : s->lease ? "idle" : "lost");
}

static int field_language(const struct session *s, struct buf *out)
{
	return buf_fmt(out, "%s\n", s->lang->name);
}

static int field_idle(const struct session *s, struct buf *out)
{
	uint64_t ns = session_is_busy(s) ? 0 : now_ns() - s->idle_since_ns;

	return buf_fmt(out, "%llu\n", (unsigned long long)(ns / NS_PER_S));
}

static int field_steps(const struct session *s, struct buf *out)
{
	return buf_fmt(out, "%" PRIu64 "\n", s->steps);
}

static const struct {
	const char *name;
	int (*show)(const struct session *s, struct buf *out);
} fields[] = {
	{ "state", field_state },
	{ "language", field_language },
	{ "idle", field_idle },
	{ "steps", field_steps },
};

const char *session_field_name(unsigned field)
{
	return field < ARRAY_SIZE(fields) ? fields[field].name : NULL;
}

int session_field(const struct session *s, unsigned field, struct buf *out)
{
	return field < ARRAY_SIZE(fields) ? fields[field].show(s, out)
					  : -ENOENT;
}
