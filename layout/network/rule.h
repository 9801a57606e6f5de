/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule names servers and those of their ports that may be reached:
 *
 *   HOST | HOST:PORTS | HOST:PORTS/tcp
 *   HOST    api.example.org | *.example.org | * | 10.0.0.5 | 10.0.0.0/24 |
 *           [2001:db8::5] | ::/0
 *   PORTS   "*", or at most NET_RULE_PORTS of PORT and LOW-HIGH, with commas
 *
 * Jobs and operators write the same rules. Pure.
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
#define NET_RULE_LEN 512 /* bytes of one as it is written */
#define NET_PORT_TLS 443 /* of a name without PORTS */

enum net_host {
	NET_HOST_NAME,  /* this name */
	NET_HOST_BELOW, /* every name below it, not itself */
	NET_HOST_ANY,   /* every name that has a dot */
	NET_HOST_BLOCK, /* addresses */
};

struct net_ports {
	uint16_t low, high;
};

struct net_rule {
	enum net_host host;
	char name[HOST_NAME_MAX_LEN + 1]; /* NAME, BELOW; as host_name_read() has it */
	struct net_block block;           /* BLOCK */
	unsigned port_count;              /* 1 to NET_RULE_PORTS */
	struct net_ports ports[NET_RULE_PORTS];
	bool tcp; /* the bytes are not looked at */
};

struct net_rules {
	size_t count;
	struct net_rule *item; /* owned */
};

/*
 * Return: 0, or -EINVAL with what is right in *err. The sentence names no key and does
 * not repeat the rule: `an address needs its port, such as "10.0.0.5:443"`.
 */
int net_rule_read(const char *text, size_t len, struct net_rule *ret, struct err *err);
/* In its shortest form, which net_rule_read() reads as the same rule. */
void net_rule_print(const struct net_rule *rule, struct buf *out);

bool net_rule_has_port(const struct net_rule *rule, unsigned port);
/* name as host_name_read() has it. */
bool net_rule_has_name(const struct net_rule *rule, const char *name);
/*
 * Do the rules allow all that the rule asks for: each host of it on each port of it, and
 * to leave the bytes alone if it says so? A net wider than /8 stands for its public
 * addresses only.
 */
bool net_rules_cover(const struct net_rules *rules, const struct net_rule *rule);

void net_rules_done(struct net_rules *rules);

#endif
