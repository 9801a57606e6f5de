/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions and sandboxes as one: whose files a key names, and which of them gives its
 * idle machine to another user. The callers need not know which of the two it is.
 */
#include "homes.h"

#include "fsd/files/remote.h"
#include "sandbox_int.h"
#include "sessions.h"

bool home_find(struct fsd *d, uint64_t key, struct home *ret)
{
	uint64_t no = key & ~REMOTE_ROOT;
	struct sandbox *b = sandboxes_by_no(d, no);
	struct session *s = b ? NULL : sessions_by_no(d, no);

	*ret = (struct home){ .session = s, .sandbox = b };
	if (b) {
		ret->name = sandbox_name(b);
		ret->uid = sandbox_uid(b);
		ret->gid = sandbox_gid(b);
		ret->tree = key & REMOTE_ROOT ? WIRE_FS_ROOT : WIRE_FS_HOME;
	} else if (s) {
		ret->name = session_name(s);
		ret->uid = session_uid(s);
		ret->gid = session_gid(s);
	}
	return b || s;
}

bool home_is_kept(void *d, uint64_t key)
{
	struct home h;

	return home_find(d, key, &h) && h.sandbox && sandbox_is_there(h.sandbox);
}

bool home_is_for(const struct home *h, uid_t uid)
{
	return h->uid == uid || uid == 0;
}

int home_fs(const struct home *h, struct wire_fs *fs, vm_fs_done *done,
	    void *arg)
{
	fs->tree = h->tree;
	return h->sandbox ? sandbox_fs(h->sandbox, fs, done, arg)
			  : session_fs(h->session, fs, done, arg);
}

/* --- idle machines ------------------------------------------------------------ */

static struct session *idle_session(struct fsd *d, uid_t uid, uint64_t *oldest)
{
	struct session *found = NULL;

	for (struct session *s = NULL; (s = sessions_next(d, s));) {
		uint64_t since = session_uid(s) == uid ? session_idle_since(s) : 0;

		if (!since || since > *oldest)
			continue;
		*oldest = since;
		found = s;
	}
	return found;
}

static struct sandbox *idle_sandbox(struct fsd *d, uid_t uid, uint64_t *oldest)
{
	struct sandbox *found = NULL;

	list_for_each(pos, tmp, &d->sandboxes->all) {
		struct sandbox *s = list_entry(pos, struct sandbox, node);
		uint64_t since = s->uid == uid ? sandbox_idle_since(s) : 0;

		if (!since || since > *oldest)
			continue;
		*oldest = since;
		found = s;
	}
	return found;
}

bool take_back(void *arg, uid_t uid, uint64_t idle_ns, bool only_sessions)
{
	struct fsd *d = arg;
	uint64_t oldest = now_ns() - idle_ns;
	struct session *session = idle_session(d, uid, &oldest);
	struct sandbox *sandbox =
		only_sessions ? NULL : idle_sandbox(d, uid, &oldest);

	if (sandbox)
		sandbox_take_back(sandbox);
	else if (session)
		session_take_back(session);
	return sandbox || session;
}

unsigned kept_in_use(struct fsd *d)
{
	unsigned count = 0;

	for (struct session *s = NULL; (s = sessions_next(d, s));)
		count += session_has_machine(s) && !session_idle_since(s);
	list_for_each(pos, tmp, &d->sandboxes->all) {
		const struct sandbox *s = list_entry(pos, struct sandbox, node);

		count += s->hold.sched && !sandbox_idle_since(s);
	}
	return count;
}
