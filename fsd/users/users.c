/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All users and what is counted for each: the times that the user sees, jobs by
 * state, open descriptors, memory of what is open. A record is made on first use
 * and stays until the server ends. All functions run on the loop's thread.
 */
#include "users_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vm/os/loop.h"

int users_new(uint64_t open_most, const struct quota_limits *limits,
	      struct users **ret)
{
	struct users *users = calloc(1, sizeof(*users));

	*ret = users;
	if (!users)
		return -ENOMEM;
	list_init(&users->list);
	list_init(&users->errors);
	users->started_ns = realtime_ns();
	users->open_most = open_most;
	return quota_new(limits, &users->quota);
}

static struct user *find(struct users *users, uid_t uid)
{
	struct hash_node *h = hash_first(&users->by_uid, hash_u64(uid));

	for (; h; h = hash_next(h)) {
		struct user *p = container_of(h, struct user, by_uid);

		if (p->uid == uid)
			return p;
	}
	return NULL;
}

struct user *user_of(struct users *users, uid_t uid)
{
	struct user *p = find(users, uid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p ||
	    hash_add(&users->by_uid, &p->by_uid, hash_u64(uid)) < 0) {
		free(p);
		return NULL;
	}
	p->uid = uid;
	list_add(&users->list, &p->node);
	return p;
}

void users_free(struct users *users)
{
	if (!users)
		return;
	list_for_each(pos, tmp, &users->list)
		free(list_entry(pos, struct user, node));
	hash_done(&users->by_uid);
	last_errors_free(users);
	quota_free(users->quota);
	free(users);
}

void users_began(struct users *users, uint64_t started_ns, uint64_t health_ns)
{
	users->started_ns = started_ns;
	users->health_ns = health_ns;
}

uint64_t users_started_ns(const struct users *users)
{
	return users->started_ns;
}

uint64_t users_health_changed(struct users *users)
{
	return users->health_ns = realtime_ns();
}

struct quota *users_quota(const struct users *users)
{
	return users->quota;
}

void users_count(struct users *users, uid_t uid, bool all,
		 uint64_t count[JOB_STATE_MAX])
{
	memset(count, 0, JOB_STATE_MAX * sizeof(*count));
	list_for_each(pos, tmp, &users->list) {
		const struct user *p = list_entry(pos, struct user, node);

		for (int i = 0; (all || p->uid == uid) && i < JOB_STATE_MAX; i++)
			count[i] += p->jobs[i];
	}
}

uint64_t user_changed(struct users *users, struct user *p)
{
	users->times.changed_ns = realtime_ns();
	if (p)
		p->times.changed_ns = users->times.changed_ns;
	return users->times.changed_ns;
}

void user_listed(struct users *users, struct user *p)
{
	user_changed(users, p);
	users->times.listed_ns = users->times.changed_ns;
	if (p)
		p->times.listed_ns = p->times.changed_ns;
}

void user_count(struct user *p, enum job_state state, int more)
{
	if (p)
		p->jobs[state] += (uint64_t)more;
}

int user_may_open(struct users *users, uid_t uid, struct err *err)
{
	const struct user *p = is_operator(uid) ? NULL : find(users, uid);

	if (!p || p->open < users->open_most)
		return 0;
	return err_set(err, -EMFILE,
		       "user %u has %" PRIu64 " files open, at most %" PRIu64
		       " are allowed at a time; close some first",
		       uid, p->open, users->open_most);
}

struct user *user_opens(struct users *users, uid_t uid)
{
	struct user *p = is_operator(uid) ? NULL : user_of(users, uid);

	if (p)
		p->open++;
	return p;
}

void user_closes(struct user *p)
{
	if (p)
		p->open--;
}

int user_weigh(struct users *users, uid_t uid, struct user_weight *w,
	       uint64_t bytes, struct err *err)
{
	uint64_t others;

	if (!w->payer)
		w->payer = user_of(users, uid);
	if (!w->payer)
		return err_sys(err, -ENOMEM, "an open file");
	others = w->payer->bytes - w->bytes;
	if (bytes > w->bytes && others + bytes > USER_BYTES)
		return err_set(err, -EMFILE,
			       "what user %u has open takes %" PRIu64 " bytes of "
			       "memory, and this would take %" PRIu64 " more; at "
			       "most %u are allowed at a time: close some first",
			       w->payer->uid, others, bytes, USER_BYTES);
	w->payer->bytes = others + bytes;
	w->bytes = bytes;
	return 0;
}

void user_unweigh(struct user_weight *w)
{
	if (w->payer)
		w->payer->bytes -= w->bytes;
	*w = (struct user_weight){ 0 };
}

bool is_operator(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

struct times user_times(struct users *users, uid_t uid)
{
	const struct user *p = is_operator(uid) ? NULL : find(users, uid);
	struct times t = p ? p->times : (struct times){ 0 };

	if (is_operator(uid))
		t = users->times;
	t.listed_ns = MAX(t.listed_ns, users->started_ns);
	t.changed_ns = MAX(t.changed_ns, MAX(users->health_ns,
					     users->started_ns));
	return t;
}
