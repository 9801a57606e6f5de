/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule names servers, and the ports that may be reached there:
 *
 *   HOST | HOST:PORTS | HOST:PORTS/tcp
 *   HOST    api.example.org | *.example.org | * | 10.0.0.5 | 10.0.0.0/24 |
 *           [2001:db8::5] | ::/0
 *   PORTS   "*", or at most NET_RULE_PORTS of PORT and LOW-HIGH, with commas
 *
 * Jobs and operators write the same rules. Pure: any thread.
 */
#ifndef LAYOUT_NETWORK_RULE_H
#define LAYOUT_NETWORK_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "address.h"
#include "layout/base/buf.h"
#include "layout/base/err.h"
#include "layout/base/host_name.h"

#define NET_RULE_PORTS 8
#define NET_RULES_MAX 256
#define NET_RULE_LEN 512 /* most bytes of a rule's text */
#define NET_PORT_TLS 443 /* the port of a name without PORTS */

enum net_host {
	NET_HOST_NAME, /* the name in `name` */
	NET_HOST_BELOW, /* every name below `name`, but not `name` */
	NET_HOST_ANY, /* every name with a dot */
	NET_HOST_BLOCK, /* the addresses of `block` */
};

struct net_ports {
	uint16_t low, high;
};

struct net_rule {
	enum net_host host;
	/* for NAME and BELOW; normalised by host_name_read() */
	char name[HOST_NAME_MAX_LEN + 1];
	struct net_block block; /* used if the host is an address or a net (BLOCK) */
	unsigned port_count;              /* 1 to NET_RULE_PORTS */
	struct net_ports ports[NET_RULE_PORTS];
	/* do not inspect the bytes of the connection (no comparison of the TLS
	 * name) */
	bool tcp;
};

struct net_rules {
	size_t count;
	struct net_rule *item; /* owned */
};

/*
 * Parses a rule. Return: 0, or -EINVAL with a sentence in *err that says what
 * is right. It names no key and does not repeat the rule: `an address needs its
 * port, such as "10.0.0.5:443"`.
 */
int net_rule_read(const char *text, size_t len, struct net_rule *ret, struct err *err);
/* Appends the rule in its shortest form; net_rule_read() parses that to the
 * same rule. */
void net_rule_print(const struct net_rule *rule, struct buf *out);

bool net_rule_has_port(const struct net_rule *rule, unsigned port);
/*
 * Returns whether the rule covers a name that host_name_read() has normalised.
 */
bool net_rule_has_name(const struct net_rule *rule, const char *name);
/*
 * Returns whether the rules allow everything that the rule asks for: each of
 * its hosts on each of its ports, and "/tcp" if it has that. A net wider than
 * /8 means only its public addresses.
 */
bool net_rules_cover(const struct net_rules *rules, const struct net_rule *rule);

void net_rules_done(struct net_rules *rules);

#endif
