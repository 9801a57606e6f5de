/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what a job may look up and reach: what it asks for, as far as its operator allows
 * that to its user. A name is decided by its rules, then each address that it leads to by
 * itself. Pure: the caller resolves, connects, and knows the host's own addresses.
 */
#ifndef LAYOUT_NETWORK_VERDICT_H
#define LAYOUT_NETWORK_VERDICT_H

#include "policy.h"
#include "wish.h"

enum net_verdict {
	NET_OK,
	NET_DENIED,       /* no rule allows it, or one denies it */
	NET_IS_PRIVATE,   /* not public, and "reach" does not cover it */
	NET_IS_OWN,       /* an address of this host, and "reach" does not cover it */
};

/* Borrowed: one job's. */
struct net_asker {
	const struct net_share *share; /* of its user, by net_policy_share() */
	const struct net_wish *wish;
};

/* name as host_name_read() has it. *ret_looks: is the server's name in TLS to be compared?
 * Not if both sides' rules have "/tcp", or "*". Return: NET_OK or NET_DENIED. */
enum net_verdict net_name_verdict(const struct net_asker *asker, const char *name,
				  unsigned port, bool *ret_looks);

/*
 * The ports of a name that are open. More than NET_RULE_PORTS ranges become one of all
 * ports: the port is decided again when a program connects. Return: how many ranges; 0:
 * the name may not be looked up.
 */
unsigned net_name_ports(const struct net_asker *asker, const char *name,
			struct net_ports ret[NET_RULE_PORTS]);

/*
 * An address that a name has led to, once net_name_verdict() has allowed the name; name
 * NULL: a program has given the address itself. is_own: this host has it.
 */
enum net_verdict net_address_verdict(const struct net_asker *asker, const char *name,
				     const struct net_address *address, unsigned port,
				     bool is_own);

#endif
