/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of an operator: the servers that jobs may reach, for all users and
 * for single ones. It is one file of JSON text. Pure: any thread.
 *
 *   { "allow": ["*.wheels.example"], "deny": ["*:25"], "reach": ["10.0.0.0/8"],
 *     "users": { "alice": { "allow": ["*:*"] } } }
 */
#ifndef LAYOUT_NETWORK_POLICY_H
#define LAYOUT_NETWORK_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rule.h"

#define NET_POLICY_BYTES (1u << 20)
#define NET_POLICY_USERS 1024
#define NET_POLICY_ENV 32
#define NET_POLICY_REACH 64
/* the values of a policy that does not set them */
#define NET_SHARE_CONNECTIONS 64
#define NET_SHARE_RATE 20
#define NET_SHARE_BYTES (1ull << 30)

enum net_log { NET_LOG_CONNECTIONS, NET_LOG_TOTALS, NET_LOG_NONE, NET_LOG_MAX };

struct net_blocks {
	size_t count;
	struct net_block item[NET_POLICY_REACH];
};

/* The values for one user, or for all. */
struct net_share {
	struct net_rules allow, deny; /* `deny` wins over `allow` */
	struct net_blocks reach; /* private addresses that may be reached */
	bool ports; /* other programs may connect to a job's ports */
	bool ech; /* allow a ClientHello whose server name is encrypted */
	/* most connections of a job at a time, 1 to 1024 */
	uint64_t connections;
	/* most new connections and name queries per second, 1 to 10000 */
	uint64_t rate;
	uint64_t bytes; /* most bytes of a job, both directions together */
	enum net_log log; /* what a job's result reports */
	/* keys that the file sets: 1 << row of `members` in policy.c */
	unsigned given;
};

struct net_user {
	char *name; /* owned: user name or decimal user id */
	struct net_share share;
};

struct net_env {
	char *name, *value; /* owned */
};

struct net_policy {
	struct net_share all;
	size_t user_count, env_count;
	struct net_user *user; /* owned */
	/* variables for each job that has "network" */
	struct net_env env[NET_POLICY_ENV];
	char *ca; /* owned: path of a PEM file with certificates; NULL: none */
	bool audit; /* log every connection in the daemon's log */
};

/*
 * Parses a policy. On success the caller calls net_policy_done(ret). Else *err
 * has a sentence without the file's name, and *ret needs no release. Return: 0;
 * -EINVAL; -EFBIG: over NET_POLICY_BYTES; -ENOMEM.
 */
int net_policy_parse(const char *data, size_t len, struct net_policy *ret,
		     struct err *err);
void net_policy_done(struct net_policy *policy);
/*
 * Replaces each user's name by the digits of his id, in the order of policy->user.
 * UINT32_MAX leaves a name as it is. Return: 0; -EINVAL: count is not that of the users;
 * -ENOMEM.
 */
int net_policy_number_users(struct net_policy *policy, const uint32_t *ids, size_t count);

/*
 * Returns the values for one user: the user's own, and those for all where
 * there are none. The lists are borrowed from the policy. name NULL: the user
 * has no name.
 */
struct net_share net_policy_share(const struct net_policy *policy, const char *name,
				  uint64_t uid);

#endif
