/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the network module: its state. */
#ifndef FSD_NETWORK_INT_H
#define FSD_NETWORK_INT_H

#include "network.h"

/* The policy in force. */
struct network_rules {
	bool set;
	struct net_policy policy; /* owned, if set */
	char *ca; /* owned: PEM text; NULL: none */
	size_t ca_len;
};

struct network {
	struct network_rules rules;
	struct ports_table *ports; /* owned */
};

/*
 * Parses the policy that a door has sent: text, and the ids of its users (door_wire.h).
 * ca: consumed on success. Return: 0; or -EINVAL, -EFBIG, -ENOMEM with a sentence.
 */
int network_rules_read(const char *text, size_t len, const uint32_t *ids, size_t id_count,
		       struct network_rules *ret, struct err *err);
void network_rules_done(struct network_rules *rules);

#endif
