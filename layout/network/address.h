/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses, nets of addresses, and the class of an address: a public server, a
 * private one, or a service that gives out the credentials of its host. Pure:
 * any thread.
 */
#ifndef LAYOUT_NETWORK_ADDRESS_H
#define LAYOUT_NETWORK_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/buf.h"

/*
 * An address of either family, in one form to compare them: an IPv4 address is
 * ::ffff:a.b.c.d.
 */
struct net_address {
	uint8_t byte[16];
};

struct net_block {
	/* first address; its bits after `bits` are 0 */
	struct net_address first;
	/* length of the prefix: 0 to 128; for an IPv4 net 96 to 128 */
	unsigned bits;
	bool ip6; /* an IPv6 net; else ::/0 would contain all IPv4 addresses */
};

enum net_class {
	NET_PUBLIC,
	/* private, local, multicast, reserved, for documentation */
	NET_PRIVATE,
	NET_CREDENTIALS, /* link-local, or a cloud's metadata service */
	NET_CLASSES
};

/* Parses a dotted quad or an IPv6 address without a zone. Refuses octal,
 * hexadecimal and shorter forms. Return: 0 or -EINVAL. */
int net_address_read(const char *text, size_t len, struct net_address *ret);
void net_address_print(const struct net_address *a, struct buf *out);
bool net_address_is_ip4(const struct net_address *a);

/* Returns the IPv4 address that an IPv6 address of NAT64 (64:ff9b::/96) embeds,
 * else the address itself. Compare this one with a net. */
struct net_address net_address_plain(const struct net_address *a);
enum net_class net_address_class(const struct net_address *a);

/*
 * Parses ADDRESS or ADDRESS/BITS. Return: 0; -EINVAL; -ERANGE: BITS is too
 * large; -EDOM: the address has bits set after BITS, and *ret is the net
 * without these.
 */
int net_block_read(const char *text, size_t len, struct net_block *ret);
/* Appends ADDRESS, or ADDRESS/BITS for a net of more than one address. */
void net_block_print(const struct net_block *b, struct buf *out);

bool net_block_has(const struct net_block *b, const struct net_address *a);
bool net_block_within(const struct net_block *outer, const struct net_block *inner);
bool net_block_is_single(const struct net_block *b);
/* Returns whether a net is wider than /8 (IPv6: /16). Such a net means only its
 * public addresses. */
bool net_block_is_wide(const struct net_block *b);
/* Returns whether every address of the net is NET_PUBLIC. */
bool net_block_is_public(const struct net_block *b);
/* Returns whether the net lies in 127.0.0.0/8, ::1 or 198.18.0.0/15, which are
 * a machine's own addresses. */
bool net_block_is_local(const struct net_block *b);

#endif
