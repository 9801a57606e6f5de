/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses an operator's policy file. The tables `members` and `once` are its
 * schema, one row for each key. The keys of `members` are allowed at the top
 * and for each user, those of `once` only at the top. Pure.
 *
 * It refuses an unknown key, since a policy with a typing error would allow or
 * deny something else than its operator believes.
 */
#include "policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/env.h"
#include "layout/json.h"
#include "wish.h"

#define DEPTH 6
#define BYTES_MAX (1ull << 50)
#define SHOWN 60

struct member {
	const char *key;
	int (*read)(const struct member *m, const json_t *value, void *at,
		    struct err *err);
	size_t offset, size;
	uint64_t min, max;
};

static int wrong(const char *key, const char *must, struct err *err)
{
	return err_set(err, -EINVAL, "\"%s\" must be %s", key, must);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static int read_rules(const struct member *m, const json_t *value, void *at,
		      struct err *err)
{
	return net_rules_from(value, m->key, at, err);
}

static int read_bool(const struct member *m, const json_t *value, void *at,
		     struct err *err)
{
	if (!json_is_boolean(value))
		return wrong(m->key, "true or false", err);
	*(bool *)at = json_is_true(value);
	return 0;
}

static int read_number(const struct member *m, const json_t *value, void *at,
		       struct err *err)
{
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < 0 || (uint64_t)n < m->min ||
	    (uint64_t)n > m->max)
		return err_set(err, -EINVAL, "\"%s\" must be an integer from %llu to "
			       "%llu", m->key, (unsigned long long)m->min,
			       (unsigned long long)m->max);
	*(uint64_t *)at = (uint64_t)n;
	return 0;
}

static int read_log(const struct member *m, const json_t *value, void *at,
		    struct err *err)
{
	static const char *const names[NET_LOG_MAX] = { "connections", "totals",
							"none" };
	const char *text = json_string_value(value);

	for (int i = 0; text && i < NET_LOG_MAX; i++)
		if (!strcmp(text, names[i])) {
			*(enum net_log *)at = (enum net_log)i;
			return 0;
		}
	return wrong(m->key, "\"connections\", \"totals\" or \"none\"", err);
}

static int wrong_net(const struct member *m, const json_t *item, int code,
		     const struct net_block *b, struct err *err)
{
	auto_buf struct buf net = { .cap = 0 };
	char room[SHOWN + 4];

	if (!json_is_string(item))
		return wrong(m->key, "a list of nets, such as [\"10.0.0.0/8\"]", err);
	if (code == -EDOM)
		net_block_print(b, &net);
	return err_set(err, -EINVAL, "\"%s\" has %s; %s%s%s", m->key,
		       json_shown(json_string_value(item), json_string_length(item),
				  SHOWN, room),
		       net.data ? "the net around it is \"" :
				  "it must be an address or a net, such as "
				  "\"10.0.0.0/8\"",
		       net.data ? net.data : "", net.data ? "\"" : "");
}

static int read_reach(const struct member *m, const json_t *value, void *at,
		      struct err *err)
{
	struct net_blocks *blocks = at;
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return wrong_net(m, NULL, 0, NULL, err);
	if (json_array_size(value) > NET_POLICY_REACH)
		return err_set(err, -EINVAL, "\"%s\" has %zu nets; at most %d are "
			       "allowed", m->key, json_array_size(value),
			       NET_POLICY_REACH);
	blocks->count = 0;
	json_array_foreach(value, i, item) {
		struct net_block *b = &blocks->item[blocks->count];
		int r = json_is_string(item) ?
				net_block_read(json_string_value(item),
					       json_string_length(item), b) : -EINVAL;

		if (r < 0)
			return wrong_net(m, item, r, b, err);
		blocks->count++;
	}
	return 0;
}

#define SHARE(member) offsetof(struct net_share, member), \
		      sizeof(((struct net_share *)0)->member)

static const struct member members[] = {
	{ "allow", read_rules, SHARE(allow), 0, 0 },
	{ "deny", read_rules, SHARE(deny), 0, 0 },
	{ "reach", read_reach, SHARE(reach), 0, 0 },
	{ "ports", read_bool, SHARE(ports), 0, 0 },
	{ "ech", read_bool, SHARE(ech), 0, 0 },
	{ "connections", read_number, SHARE(connections), 1, 1024 },
	{ "rate", read_number, SHARE(rate), 1, 10000 },
	{ "bytes", read_number, SHARE(bytes), 1, BYTES_MAX },
	{ "log", read_log, SHARE(log), 0, 0 },
};

static int unknown(const char *key, const char *where, struct err *err)
{
	char room[SHOWN + 4];

	return err_set(err, -EINVAL, "%s is not a key%s", json_shown(key, strlen(key),
		       SHOWN, room), where);
}

/* Reads a key of `members`. Return: 1; 0: it is none of them; or -EINVAL,
 * -ENOMEM. */
static int read_member(const char *key, const json_t *value, struct net_share *share,
		       struct err *err)
{
	for (unsigned i = 0; i < ARRAY_SIZE(members); i++) {
		const struct member *m = &members[i];
		int r;

		if (strcmp(m->key, key) != 0)
			continue;
		r = m->read(m, value, (char *)share + m->offset, err);
		share->given |= 1u << i;
		return r < 0 ? r : 1;
	}
	return 0;
}

/* --- keys of the top only ----------------------------------------------- */

static int read_user(const char *name, const json_t *value, struct net_user *user,
		     struct err *err)
{
	char room[SHOWN + 4];
	const char *key;
	json_t *item;

	user->name = strdup(name);
	if (!user->name)
		return no_memory(err);
	if (!*name || !json_is_object(value))
		return err_set(err, -EINVAL, "\"users\" has %s, which must be a user's "
			       "name with an object of his own values",
			       json_shown(name, strlen(name), SHOWN, room));
	json_object_foreach((json_t *)(uintptr_t)value, key, item) {
		int r = read_member(key, item, &user->share, err);

		if (r == 0)
			return unknown(key, " of a user", err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_users(const struct member *m, const json_t *value, void *at,
		      struct err *err)
{
	struct net_policy *p = at;
	const char *name;
	json_t *item;

	if (!json_is_object(value))
		return wrong(m->key, "an object of users' names", err);
	if (json_object_size(value) > NET_POLICY_USERS)
		return err_set(err, -EINVAL, "\"users\" has %zu names; at most %d are "
			       "allowed", json_object_size(value), NET_POLICY_USERS);
	p->user = calloc(json_object_size(value) + 1, sizeof(*p->user));
	if (!p->user)
		return no_memory(err);
	json_object_foreach((json_t *)(uintptr_t)value, name, item) {
		int r = read_user(name, item, &p->user[p->user_count++], err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int read_ca(const struct member *m, const json_t *value, void *at,
		   struct err *err)
{
	struct net_policy *p = at;
	const char *text = json_string_value(value);

	if (!text || !*text || strlen(text) != json_string_length(value))
		return wrong(m->key, "the path of a file of certificates", err);
	p->ca = strdup(text);
	return p->ca ? 0 : no_memory(err);
}

static int read_variable(const char *name, const json_t *value, struct net_env *env,
			 struct err *err)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);
	char room[SHOWN + 4];

	if (!env_name_ok(name, strlen(name)) || env_is_hijack(name))
		return err_set(err, -EINVAL, "\"env\" has the name %s, which no job may "
			       "set", json_shown(name, strlen(name), SHOWN, room));
	if (!text || strlen(text) != len || env_value_span(text, len) != len)
		return err_set(err, -EINVAL, "\"env\": \"%s\" must be a string without "
			       "control characters", name);
	env->name = strdup(name);
	env->value = strdup(text);
	return env->name && env->value ? 0 : no_memory(err);
}

static int read_env(const struct member *m, const json_t *value, void *at,
		    struct err *err)
{
	struct net_policy *p = at;
	const char *name;
	json_t *item;

	if (!json_is_object(value) || json_object_size(value) > NET_POLICY_ENV)
		return wrong(m->key, "an object of at most 32 names and strings", err);
	json_object_foreach((json_t *)(uintptr_t)value, name, item) {
		int r = read_variable(name, item, &p->env[p->env_count++], err);

		if (r < 0)
			return r;
	}
	return 0;
}

static const struct member once[] = {
	{ "users", read_users, 0, 0, 0, 0 },
	{ "ca", read_ca, 0, 0, 0, 0 },
	{ "env", read_env, 0, 0, 0, 0 },
	{ "audit", read_bool, offsetof(struct net_policy, audit), 0, 0, 0 },
};

/* --- the file --------------------------------------------------------------------- */

static int read_once(const char *key, const json_t *value, struct net_policy *p,
		     struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(once); i++)
		if (!strcmp(once[i].key, key))
			return once[i].read(&once[i], value,
					    (char *)p + once[i].offset, err);
	return unknown(key, " of a policy", err);
}

static int read_policy(json_t *root, struct net_policy *p, struct err *err)
{
	const char *key;
	json_t *value;

	if (!json_is_object(root))
		return err_set(err, -EINVAL, "a policy must be an object, such as "
			       "{\"allow\": [\"example.org\"]}");
	json_object_foreach(root, key, value) {
		int r = read_member(key, value, &p->all, err);

		if (r == 0)
			r = read_once(key, value, p, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int net_policy_parse(const char *data, size_t len, struct net_policy *ret,
		     struct err *err)
{
	auto_json json_t *root = NULL;
	struct net_policy policy = {
		.all = { .ports = true, .connections = NET_SHARE_CONNECTIONS,
			 .rate = NET_SHARE_RATE, .bytes = NET_SHARE_BYTES },
	};
	int r;

	if (len > NET_POLICY_BYTES)
		return err_set(err, -EFBIG, "it has %zu bytes; at most 1 MiB is allowed",
			       len);
	r = json_read(data, len, DEPTH, NULL, &root, err);
	if (r == -ENODATA) /* err says where the text ends */
		r = err->code = -EINVAL;
	if (r == 0)
		r = read_policy(root, &policy, err);
	if (r < 0)
		net_policy_done(&policy);
	else
		*ret = policy;
	return r;
}

static void share_done(struct net_share *share)
{
	net_rules_done(&share->allow);
	net_rules_done(&share->deny);
}

void net_policy_done(struct net_policy *policy)
{
	share_done(&policy->all);
	for (size_t i = 0; i < policy->user_count; i++) {
		share_done(&policy->user[i].share);
		free(policy->user[i].name);
	}
	for (size_t i = 0; i < policy->env_count; i++) {
		free(policy->env[i].name);
		free(policy->env[i].value);
	}
	free(policy->user);
	free(policy->ca);
	*policy = (struct net_policy){ 0 };
}

int net_policy_number_users(struct net_policy *policy, const uint32_t *ids, size_t count)
{
	if (policy->user_count != count)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		char digits[16], *name;

		if (ids[i] == UINT32_MAX)
			continue;
		snprintf(digits, sizeof(digits), "%lu", (unsigned long)ids[i]);
		name = strdup(digits);
		if (!name)
			return -ENOMEM;
		free(policy->user[i].name);
		policy->user[i].name = name;
	}
	return 0;
}

static bool is_user(const struct net_user *user, const char *name, uint64_t uid)
{
	uint64_t number;

	return (name && !strcmp(user->name, name)) ||
	       (parse_u64(user->name, 0, UINT32_MAX, &number) == 0 && number == uid);
}

struct net_share net_policy_share(const struct net_policy *policy, const char *name,
				  uint64_t uid)
{
	struct net_share share = policy->all;
	const struct net_user *user = NULL;

	for (size_t i = 0; i < policy->user_count && !user; i++)
		if (is_user(&policy->user[i], name, uid))
			user = &policy->user[i];
	for (unsigned i = 0; user && i < ARRAY_SIZE(members); i++) {
		const struct member *m = &members[i];

		if (user->share.given & 1u << i)
			memcpy((char *)&share + m->offset,
			       (const char *)&user->share + m->offset, m->size);
	}
	return share;
}
