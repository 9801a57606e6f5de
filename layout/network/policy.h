/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of an operator: which servers jobs may reach, for all users and for single
 * ones. It is the text of one file, in JSON. Pure.
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

enum net_log { NET_LOG_CONNECTIONS, NET_LOG_TOTALS, NET_LOG_NONE, NET_LOG_MAX };

struct net_blocks {
	size_t count;
	struct net_block item[NET_POLICY_REACH];
};

/* The values of one user, or those for all. */
struct net_share {
	struct net_rules allow, deny; /* deny wins */
	struct net_blocks reach; /* addresses that are not public and may be reached */
	bool ports;  /* jobs may have others connect to them */
	bool ech;    /* a ClientHello whose server name is encrypted passes */
	uint64_t connections; /* at a time, 1 to 1024 */
	uint64_t rate;        /* new ones and look-ups a second, 1 to 10000 */
	uint64_t bytes;       /* of a job, both directions together */
	enum net_log log;     /* what a job's results tell */
	unsigned given;       /* the members that the file has, by the row of the table */
};

struct net_user {
	char *name; /* owned: a name, or a number */
	struct net_share share;
};

struct net_env {
	char *name, *value; /* owned */
};

struct net_policy {
	struct net_share all;
	size_t user_count, env_count;
	struct net_user *user; /* owned */
	struct net_env env[NET_POLICY_ENV]; /* a job with "network" finds these */
	char *ca;   /* owned: a file of certificates in PEM; NULL: none */
	bool audit; /* the daemon's log has a line for each connection */
};

/*
 * On success *ret is for net_policy_done(). Else *err has a sentence without the file's
 * name, and *ret needs no release. Return: 0; -EINVAL; -EFBIG: over NET_POLICY_BYTES;
 * -ENOMEM.
 */
int net_policy_parse(const char *data, size_t len, struct net_policy *ret,
		     struct err *err);
void net_policy_done(struct net_policy *policy);

/* Returns the values of one user: his own, and those for all where he has none. Its lists
 * are borrowed from the policy. name may be NULL: a user without one. */
struct net_share net_policy_share(const struct net_policy *policy, const char *name,
				  uint64_t uid);

#endif
