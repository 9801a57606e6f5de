/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses, nets of them, and what an address stands for: a server on the Internet, one
 * of a private network, or a service that hands out its host's credentials. Pure.
 */
#ifndef LAYOUT_NETWORK_ADDRESS_H
#define LAYOUT_NETWORK_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/buf.h"

/* An IPv4 address is kept as ::ffff:a.b.c.d, so both families compare alike. */
struct net_address {
	uint8_t byte[16];
};

struct net_block {
	struct net_address first; /* the bits behind `bits` are 0 */
	unsigned bits;            /* 0 to 128; of an IPv4 net 96 to 128 */
	bool ip6;                 /* without it ::/0 would have all IPv4 addresses */
};

enum net_class {
	NET_PUBLIC,
	NET_PRIVATE,     /* private, local, multicast, reserved, for documents */
	NET_CREDENTIALS, /* link-local, or a cloud's metadata service */
	NET_CLASSES
};

/* Takes a dotted quad or an IPv6 address without a zone. Octal, hexadecimal and shorter
 * forms are refused. Return: 0 or -EINVAL. */
int net_address_read(const char *text, size_t len, struct net_address *ret);
void net_address_print(const struct net_address *a, struct buf *out);
bool net_address_is_ip4(const struct net_address *a);

/*
 * The IPv4 address that an IPv6 address of NAT64 (64:ff9b::/96) embeds, else the
 * address itself. A comparison of an address with a net needs this one.
 */
struct net_address net_address_plain(const struct net_address *a);
enum net_class net_address_class(const struct net_address *a);

/* ADDRESS, or ADDRESS/BITS. Return: 0; -EINVAL; -ERANGE: too many bits; -EDOM: there
 * are bits behind the net's, and *ret is the net without them. */
int net_block_read(const char *text, size_t len, struct net_block *ret);
/* ADDRESS, or ADDRESS/BITS if it is more than one. */
void net_block_print(const struct net_block *b, struct buf *out);

bool net_block_has(const struct net_block *b, const struct net_address *a);
bool net_block_within(const struct net_block *outer, const struct net_block *inner);
bool net_block_is_single(const struct net_block *b);
/* Wider than /8, of IPv6 than /16: then it stands for the public addresses in it. */
bool net_block_is_wide(const struct net_block *b);
/* Has every address in it the class NET_PUBLIC? */
bool net_block_is_public(const struct net_block *b);
/* Does it lie in 127.0.0.0/8, ::1, 198.18.0.0/15: a machine's own addresses? */
bool net_block_is_local(const struct net_block *b);

#endif
