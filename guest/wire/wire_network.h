/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NET, a frame of the machine's wire: tells PID 1 what to set up before programs may
 * have connections, whose bytes the second port then carries (wire_net.h). Payload, in
 * order: u32 flags, u32 count of blocks, each of them u32 bits and 16 bytes of address,
 * str certificates. Bit 8 of `bits` marks an IPv6 block.
 */
#ifndef GUEST_WIRE_NETWORK_H
#define GUEST_WIRE_NETWORK_H

#include "wire.h"

#define WIRE_NETWORK_ROUTES_MAX 512u
#define WIRE_NETWORK_CA_MAX (48u << 10)

/* A block of addresses, as struct net_block of the host has it: an IPv4 address is
 * ::ffff:a.b.c.d, and bits are 96 and more then. */
struct wire_route {
	uint8_t first[16];
	uint32_t bits;
	bool ip6;
};

enum wire_network_flag {
	WIRE_NETWORK_NAMES = 1, /* programs may open connections */
	WIRE_NETWORK_PORTS = 2, /* others may connect to the job's programs */
	WIRE_NETWORK_FLAGS = 3
};

struct wire_network {
	uint32_t flags; /* at least one of them is set */
	/* address blocks that programs may connect to by number; the machine routes
	 * them to its loopback device. wire_network_done() frees the array that
	 * wire_network_get() made */
	uint32_t route_count;
	struct wire_route *route;
	const char *ca; /* certificates to trust besides Debian's, as PEM; "": none */
};

/* Reads a payload. Return: 0, -EPROTO or -ENOMEM; after 0 call wire_network_done(). */
int wire_network_get(const void *payload, size_t length, struct wire_network *ret);
void wire_network_done(struct wire_network *net);
/* Writes a payload; w->used tells what it takes. */
void wire_network_put(struct wire_writer *w, const struct wire_network *net);

#endif
