/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of "network": the servers that a job asks for, or all that the
 * operator allows to the job's user except some. Also parses lists of rules for
 * the operator's file. Pure: any thread.
 */
#ifndef LAYOUT_NETWORK_WISH_H
#define LAYOUT_NETWORK_WISH_H

#include "layout/json.h"
#include "rule.h"

enum net_wish_form {
	NET_WISH_NONE, /* the job has no "network" */
	NET_WISH_LIST, /* the rules in `allow` and no others */
	/*
	 * all that the operator allows, except `deny`; `allow` wins over `deny`
	 */
	NET_WISH_ALL,
};

struct net_wish {
	enum net_wish_form form;
	struct net_rules allow, deny; /* owned */
};

/*
 * Parses a list of at most NET_RULES_MAX rules, the value of `key`. Keeps equal
 * rules. Return: 0, then the caller calls net_rules_done(ret); else -EINVAL or
 * -ENOMEM with a sentence such as `"network" has "localhost"; that is ...`, and
 * *ret is empty.
 */
int net_rules_from(const json_t *list, const char *key, struct net_rules *ret,
		   struct err *err);

/* Parses the value of "network", with the errors of net_rules_from(). */
int net_wish_from(const json_t *value, struct net_wish *ret, struct err *err);
/* Parses the JSON text of such a value. Return: 0, -EINVAL or -ENOMEM. */
int net_wish_read(const char *text, size_t len, struct net_wish *ret, struct err *err);
void net_wish_done(struct net_wish *wish);
/*
 * Appends the wish as JSON text, each rule in its shortest form; nothing for
 * NET_WISH_NONE. Two wishes with equal texts ask for the same.
 */
void net_wish_print(const struct net_wish *wish, struct buf *out);

/*
 * Returns the first rule of `allow` that the operator's `allow` does not cover
 * completely, or that the operator's `deny` does; NULL: there is none. A rule
 * that is denied in part passes: the connection is decided when a program
 * connects.
 */
const struct net_rule *net_wish_beyond(const struct net_wish *wish,
				       const struct net_rules *allow,
				       const struct net_rules *deny);

#endif
