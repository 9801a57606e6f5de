/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of "network": the servers that a job asks for, or all that its operator allows
 * this user but some. Reads lists of rules in JSON for the operator's file as well. Pure.
 */
#ifndef LAYOUT_NETWORK_WISH_H
#define LAYOUT_NETWORK_WISH_H

#include "layout/json.h"
#include "rule.h"

enum net_wish_form {
	NET_WISH_NONE, /* no "network" */
	NET_WISH_LIST, /* the rules in `allow` and no others */
	NET_WISH_ALL,  /* what the operator allows, but not what `deny` has, unless
			* `allow` has it */
};

struct net_wish {
	enum net_wish_form form;
	struct net_rules allow, deny; /* owned */
};

/*
 * A list of at most NET_RULES_MAX rules, the value of the member `key`. Equal rules stay.
 * Return: 0, then *ret is for net_rules_done(); else -EINVAL or -ENOMEM with a sentence
 * such as `"network" has "localhost"; that is ...`, and *ret is empty.
 */
int net_rules_from(const json_t *list, const char *key, struct net_rules *ret,
		   struct err *err);

/* The value of "network". As net_rules_from(). */
int net_wish_from(const json_t *value, struct net_wish *ret, struct err *err);
void net_wish_done(struct net_wish *wish);

/*
 * The first rule of `allow` that the operator's `allow` does not cover as a whole, or that
 * his `deny` does; NULL: there is none. A rule that he denies in part passes: the door
 * decides when a program connects.
 */
const struct net_rule *net_wish_beyond(const struct net_wish *wish,
				       const struct net_rules *allow,
				       const struct net_rules *deny);

#endif
