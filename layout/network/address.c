/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads, prints, compares and classifies addresses. The tables below are the only place
 * that says which addresses are not public. There is no state.
 *
 * The lists follow IANA's registries of special-purpose addresses. An address that is
 * not global there is private here. IPv6 outside of 2000::/3 is private, since IANA has
 * given out no other part.
 */
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "layout/base/num.h"

#define IP4_BITS 96u /* bits before the IPv4 address in ::ffff:a.b.c.d */

#define IP4(a, b, c, d, bits_)                                               \
	{ .first = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d } }, \
	  .bits = IP4_BITS + (bits_) }
/* Makes a net from the first six bytes of an IPv6 address. */
#define IP6(a, b, c, d, e, f, bits_) \
	{ .first = { { a, b, c, d, e, f } }, .bits = (bits_), .ip6 = true }

/* 169.254.169.254 and similar addresses of metadata services.
 * net_address_class() tests these first; not all of them are in not_public. */
static const struct net_block credentials[] = {
	IP4(169, 254, 0, 0, 16),
	IP4(100, 100, 100, 200, 32),
	IP4(168, 63, 129, 16, 32),
	IP6(0xfe, 0x80, 0, 0, 0, 0, 10),
	IP6(0xfd, 0, 0x0e, 0xc2, 0, 0, 32),
};

static const struct net_block not_public[] = {
	IP4(0, 0, 0, 0, 8),      /* addresses of this network */
	IP4(10, 0, 0, 0, 8),     /* private */
	IP4(100, 64, 0, 0, 10),  /* shared by carriers */
	IP4(127, 0, 0, 0, 8),    /* loopback */
	IP4(169, 254, 0, 0, 16), /* link-local */
	IP4(172, 16, 0, 0, 12),  /* private */
	IP4(192, 0, 0, 0, 24),   /* protocols */
	IP4(192, 0, 2, 0, 24),   /* documents */
	IP4(192, 88, 99, 0, 24), /* 6to4 relays */
	IP4(192, 168, 0, 0, 16), /* private */
	IP4(198, 18, 0, 0, 15),  /* benchmarks; a machine's own */
	IP4(198, 51, 100, 0, 24), /* documents */
	IP4(203, 0, 113, 0, 24), /* documents */
	IP4(224, 0, 0, 0, 3),    /* multicast, reserved, broadcast */
	/* parts of 2000::/3: */
	IP6(0x20, 0x01, 0, 0, 0, 0, 23),       /* protocols, Teredo */
	IP6(0x20, 0x01, 0x0d, 0xb8, 0, 0, 32), /* addresses for examples in documents */
	IP6(0x20, 0x02, 0, 0, 0, 0, 16),       /* 6to4 */
	IP6(0x3f, 0xff, 0, 0, 0, 0, 20),       /* documents */
};

static const struct net_block ip6_given_out = IP6(0x20, 0, 0, 0, 0, 0, 3);
static const struct net_block nat64 = IP6(0, 0x64, 0xff, 0x9b, 0, 0, 96);

static const struct net_block local[] = {
	IP4(127, 0, 0, 0, 8),
	IP4(198, 18, 0, 0, 15),
	{ .first = { { [15] = 1 } }, .bits = 128, .ip6 = true },
};

/* --- addresses ---------------------------------------------------------- */

int net_address_read(const char *text, size_t len, struct net_address *ret)
{
	struct net_address a = { { [10] = 0xff, [11] = 0xff } };
	char room[INET6_ADDRSTRLEN];

	if (len >= sizeof(room) || memchr(text, '\0', len))
		return -EINVAL;
	memcpy(room, text, len);
	room[len] = '\0';
	if (inet_pton(AF_INET, room, a.byte + 12) != 1 &&
	    inet_pton(AF_INET6, room, a.byte) != 1)
		return -EINVAL;
	*ret = a;
	return 0;
}

bool net_address_is_ip4(const struct net_address *a)
{
	static const uint8_t before[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(a->byte, before, sizeof(before));
}

void net_address_print(const struct net_address *a, struct buf *out)
{
	bool ip4 = net_address_is_ip4(a);
	char room[INET6_ADDRSTRLEN];

	buf_str(out, inet_ntop(ip4 ? AF_INET : AF_INET6,
			       a->byte + (ip4 ? 12 : 0), room, sizeof(room)));
}

struct net_address net_address_plain(const struct net_address *a)
{
	struct net_address plain = { { [10] = 0xff, [11] = 0xff } };

	if (!net_block_has(&nat64, a))
		return *a;
	memcpy(plain.byte + 12, a->byte + 12, 4);
	return plain;
}

static bool has_any(const struct net_block *blocks, size_t count,
		    const struct net_address *a)
{
	for (size_t i = 0; i < count; i++)
		if (net_block_has(&blocks[i], a))
			return true;
	return false;
}

enum net_class net_address_class(const struct net_address *a)
{
	struct net_address plain = net_address_plain(a);

	if (has_any(credentials, ARRAY_SIZE(credentials), &plain))
		return NET_CREDENTIALS;
	if (has_any(not_public, ARRAY_SIZE(not_public), &plain) ||
	    (!net_address_is_ip4(&plain) && !net_block_has(&ip6_given_out, &plain)))
		return NET_PRIVATE;
	return NET_PUBLIC;
}

/* --- nets ----------------------------------------------------------------------- */

static bool same_bits(const struct net_address *a, const struct net_address *b,
		      unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return !memcmp(a->byte, b->byte, whole) &&
	       (!rest || !((a->byte[whole] ^ b->byte[whole]) >> (8 - rest)));
}

/* Clears the bits of the address after the first `bits`. Return: whether one
 * was set. */
static bool clear_behind(struct net_address *a, unsigned bits)
{
	bool had = false;

	for (unsigned i = 0; i < 16; i++) {
		unsigned kept = bits <= i * 8 ? 0 : MIN(bits - i * 8, 8u);
		uint8_t mask = (uint8_t)(0xff00u >> kept);

		had |= a->byte[i] & (uint8_t)~mask;
		a->byte[i] &= mask;
	}
	return had;
}

/* Parses up to three decimal digits. Return: the value or -EINVAL. */
static int read_bits(const char *text, size_t len)
{
	int bits = 0;

	if (!len || len > 3)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		bits = bits * 10 + text[i] - '0';
	}
	return bits;
}

int net_block_read(const char *text, size_t len, struct net_block *ret)
{
	const char *slash = memchr(text, '/', len);
	size_t used = slash ? (size_t)(slash - text) : len;
	bool colon = memchr(text, ':', used);
	int most, bits, r;

	*ret = (struct net_block){ .bits = 128 };
	r = net_address_read(text, used, &ret->first);
	if (r < 0)
		return r;
	ret->ip6 = !net_address_is_ip4(&ret->first);
	if (!slash)
		return 0;
	bits = read_bits(slash + 1, len - used - 1);
	/* For ::ffff:1.2.3.4/N it is unclear which family N counts in. */
	if (bits < 0 || colon != ret->ip6)
		return -EINVAL;
	most = ret->ip6 ? 128 : 32;
	if (bits > most)
		return -ERANGE;
	ret->bits = (unsigned)(128 - most + bits);
	return clear_behind(&ret->first, ret->bits) ? -EDOM : 0;
}

void net_block_print(const struct net_block *b, struct buf *out)
{
	net_address_print(&b->first, out);
	if (!net_block_is_single(b))
		buf_fmt(out, "/%u", b->bits - (b->ip6 ? 0 : IP4_BITS));
}

bool net_block_has(const struct net_block *b, const struct net_address *a)
{
	return b->ip6 != net_address_is_ip4(a) &&
	       same_bits(&b->first, a, b->bits);
}

bool net_block_within(const struct net_block *outer, const struct net_block *inner)
{
	return outer->ip6 == inner->ip6 && outer->bits <= inner->bits &&
	       same_bits(&outer->first, &inner->first, outer->bits);
}

bool net_block_is_single(const struct net_block *b)
{
	return b->bits == 128;
}

bool net_block_is_wide(const struct net_block *b)
{
	return b->ip6 ? b->bits < 16 : b->bits < IP4_BITS + 8;
}

static bool meets_any(const struct net_block *blocks, size_t count,
		      const struct net_block *b)
{
	for (size_t i = 0; i < count; i++)
		if (net_block_within(&blocks[i], b) || net_block_within(b, &blocks[i]))
			return true;
	return false;
}

bool net_block_is_public(const struct net_block *b)
{
	return !meets_any(credentials, ARRAY_SIZE(credentials), b) &&
	       !meets_any(not_public, ARRAY_SIZE(not_public), b) &&
	       (!b->ip6 || net_block_within(&ip6_given_out, b));
}

bool net_block_is_local(const struct net_block *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if (net_block_within(&local[i], b))
			return true;
	return false;
}
