/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums of each user, and the checks of them against one set of limits. A user's
 * sums are made with the first job and stay until the server ends.
 */
#include "quota.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fsd/base/hash.h"

struct quota {
	struct quota_limits limits;
	struct hash users; /* entries: struct quota_user; each stays until the end */
	struct list all;   /* the same entries, in the order of their first job */
};

struct quota_user {
	struct hash_node by_uid;
	struct list node;
	const struct quota *quota;
	uid_t uid;
	struct quota_use use;
};

int quota_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KMG";
	size_t len = strlen(text);
	const char *unit = len ? strchr(units, text[len - 1]) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	char number[24];
	uint64_t n;
	int r;

	if (unit)
		len--;
	if (len >= sizeof(number))
		return -ERANGE;
	memcpy(number, text, len);
	number[len] = '\0';
	r = parse_u64(number, 0, (uint64_t)INT64_MAX >> shift, &n);
	if (r == 0)
		*ret_bytes = n << shift;
	return r;
}

/* --- users -------------------------------------------------------------- */

int quota_new(const struct quota_limits *limits, struct quota **ret)
{
	*ret = NULL;
	if (!limits->jobs && !limits->bytes && !limits->running &&
	    !limits->count_bytes)
		return 0;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->limits = *limits;
	list_init(&(*ret)->all);
	return 0;
}

void quota_free(struct quota *q)
{
	if (!q)
		return;
	list_for_each(pos, tmp, &q->all)
		free(list_entry(pos, struct quota_user, node));
	hash_done(&q->users);
	free(q);
}

static struct quota_user *find(struct quota *q, uid_t uid)
{
	struct hash_node *h = hash_first(&q->users, hash_u64(uid));

	for (; h; h = hash_next(h)) {
		struct quota_user *u = container_of(h, struct quota_user,
						    by_uid);

		if (u->uid == uid)
			return u;
	}
	return NULL;
}

struct quota_user *quota_user(struct quota *q, uid_t uid)
{
	struct quota_user *u = q ? find(q, uid) : NULL;

	if (u || !q)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->quota = q;
	u->uid = uid;
	if (hash_add(&q->users, &u->by_uid, hash_u64(uid)) < 0) {
		free(u);
		return NULL;
	}
	list_add_tail(&q->all, &u->node);
	return u;
}

bool quota_of(struct quota *q, uid_t uid, struct quota_use *ret_use,
	      struct quota_limits *ret_limits)
{
	const struct quota_user *u = q ? find(q, uid) : NULL;

	*ret_use = u ? u->use : (struct quota_use){ 0 };
	*ret_limits = q ? q->limits : (struct quota_limits){ 0 };
	return q;
}

void quota_each(struct quota *q,
		void (*fn)(void *arg, uid_t uid, const struct quota_use *use),
		void *arg)
{
	if (!q)
		return;
	list_for_each(pos, tmp, &q->all) {
		const struct quota_user *u =
			list_entry(pos, struct quota_user, node);

		fn(arg, u->uid, &u->use);
	}
}

/* --- jobs --------------------------------------------------------------- */

void quota_count_job(struct quota_user *u, int more)
{
	if (u)
		u->use.jobs += (uint64_t)more;
}

int quota_check_job(struct quota *q, uid_t uid, struct err *err)
{
	const struct quota_user *u = q ? find(q, uid) : NULL;
	uint64_t used = u ? u->use.jobs : 0;

	if (!q || !q->limits.jobs || used < q->limits.jobs)
		return 0;
	return err_set(err, -EDQUOT,
		       "over the quota of jobs (--quota-jobs): user %u has "
		       "%" PRIu64 ", at most %" PRIu64 " are allowed; remove "
		       "one first",
		       uid, used, q->limits.jobs);
}

/* --- bytes -------------------------------------------------------------- */

bool quota_counts_bytes(const struct quota *q)
{
	return q && (q->limits.bytes || q->limits.count_bytes);
}

bool quota_has_bytes(const struct quota_user *u)
{
	return u && quota_counts_bytes(u->quota);
}

uint64_t quota_bytes(const struct quota_user *u)
{
	return u ? u->use.bytes : 0;
}

uint64_t quota_left(const struct quota_user *u)
{
	if (!u || !u->quota->limits.bytes)
		return UINT64_MAX;
	return u->quota->limits.bytes - MIN(u->use.bytes,
					    u->quota->limits.bytes);
}

void quota_count_bytes(struct quota_user *u, uint64_t more)
{
	if (quota_has_bytes(u))
		u->use.bytes += more;
}

int quota_check_bytes(const struct quota_user *u, uint64_t more,
		      struct err *err)
{
	if (more <= quota_left(u))
		return 0;
	return err_set(err, -EDQUOT,
		       "over the quota of bytes (--quota-bytes): user %u has "
		       "%" PRIu64 " of the %" PRIu64 " that are allowed, and "
		       "this needs %" PRIu64 " more; remove files or jobs first",
		       u->uid, u->use.bytes, u->quota->limits.bytes, more);
}

/* --- runs --------------------------------------------------------------- */

uint64_t quota_running(const struct quota_user *u)
{
	return u ? u->quota->limits.running : 0;
}

bool quota_may_run(const struct quota_user *u)
{
	return !quota_running(u) || u->use.running < quota_running(u);
}

void quota_count_running(struct quota_user *u, int more)
{
	if (u)
		u->use.running += (uint64_t)more;
}

void quota_count_waiting(struct quota_user *u, int more)
{
	if (u)
		u->use.waiting += (uint64_t)more;
}
