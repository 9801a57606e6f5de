/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which names a job may query and which servers it may reach: what the
 * job asks for, as far as the operator allows it to the job's user. A name is
 * decided by the rules, and then each address of the name separately. Pure, any
 * thread: the caller resolves, connects, and knows the host's own addresses.
 */
#ifndef LAYOUT_NETWORK_VERDICT_H
#define LAYOUT_NETWORK_VERDICT_H

#include "policy.h"
#include "wish.h"

enum net_verdict {
	NET_OK,
	NET_DENIED, /* no rule allows it, or a rule denies it */
	NET_IS_PRIVATE, /* a private address, and "reach" does not cover it */
	NET_IS_OWN,       /* an address of this host, and "reach" does not cover it */
};

/* The rules for one job; borrowed. */
struct net_asker {
	/* the values of the job's user, by net_policy_share() */
	const struct net_share *share;
	const struct net_wish *wish;
};

/*
 * Decides a name that host_name_read() has normalised. *ret_looks: the caller
 * must compare the server's name in TLS. It need not if the rules of both sides
 * have "/tcp" or "*". Return: NET_OK or NET_DENIED.
 */
enum net_verdict net_name_verdict(const struct net_asker *asker, const char *name,
				  unsigned port, bool *ret_looks);

/*
 * Returns the open ports of a name, as ranges. More than NET_RULE_PORTS ranges
 * become one of all ports: then the port is decided when a program connects.
 * Return: number of ranges; 0: the job may not query the name.
 */
unsigned net_name_ports(const struct net_asker *asker, const char *name,
			struct net_ports ret[NET_RULE_PORTS]);

/* Decides an address of a name that net_name_verdict() has allowed. name NULL:
 * a program has given the address itself. is_own: the host has this address. */
enum net_verdict net_address_verdict(const struct net_asker *asker, const char *name,
				     const struct net_address *address, unsigned port,
				     bool is_own);

#endif
