/* SPDX-License-Identifier: Apache-2.0 */
#include "take_back.h"

#include "sandbox_int.h"
#include "sessions.h"

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

	list_for_each(pos, tmp, &d->sandboxes) {
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
	list_for_each(pos, tmp, &d->sandboxes) {
		const struct sandbox *s = list_entry(pos, struct sandbox, node);

		count += s->hold.sched && !sandbox_idle_since(s);
	}
	return count;
}
