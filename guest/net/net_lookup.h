/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the kernel give a program's connections to one listener, by a BPF program of
 * type sk_lookup, which runs once for each connection. PID 1 loads it at its start. The
 * kernel runs it for as long as the link's descriptor is open.
 */
#ifndef GUEST_NET_LOOKUP_H
#define GUEST_NET_LOOKUP_H

#include <stdint.h>

#include "layout/base/err.h"

#define NET_LOOKUP_NAMES 4096u /* addresses that stand for names */
#define NET_LOOKUP_RANGES 8u
/* 198.18.0.0/15. Row i of the table belongs to the address 198.18.1.0 + i. The 256
 * addresses before stand for no name: programs may listen on them. */
#define NET_LOOKUP_NET 0xc6120000u
#define NET_LOOKUP_OWN 256u

struct net_lookup_row {
	/* ranges of ports that are open; high 0: unused */
	struct { uint16_t low, high; } range[NET_LOOKUP_RANGES];
};

/* One more row is a flag: if its range[0].low is not 0, the listener also gets the
 * connections to every other address that is routed to lo. */
#define NET_LOOKUP_ROWS (NET_LOOKUP_NAMES + 1)

struct net_lookup {
	int table; /* struct net_lookup_row[NET_LOOKUP_ROWS], to be mapped */
	int link;
};

/* listener: a dual-stack TCP socket that listens. Return: 0, or a negative errno with
 * *err; then all is closed. */
int net_lookup_open(int listener, struct net_lookup *ret, struct err *err);

#endif
