/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns NET into bytes and back. The host makes this frame, and PID 1 believes it; the
 * decoder still checks each field, so that a mistake of the host ends the machine instead
 * of making a wrong route.
 */
#include "wire_network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IP6 0x100u
#define IP4_BITS 96u

/* An IPv4 address is ::ffff:a.b.c.d. */
static const uint8_t ip4_prefix[IP4_BITS / 8] = { [10] = 0xff, [11] = 0xff };

static void put_block(struct wire_writer *w, const struct wire_route *b)
{
	wire_put_u32(w, b->bits | (b->ip6 ? IP6 : 0));
	wire_put_bytes(w, b->first, sizeof(b->first));
}

void wire_network_put(struct wire_writer *w, const struct wire_network *net)
{
	wire_put_u32(w, net->flags);
	wire_put_u32(w, net->route_count);
	for (uint32_t i = 0; i < net->route_count; i++)
		put_block(w, &net->route[i]);
	wire_put_str(w, net->ca ? net->ca : "");
}

/* Returns whether the address has no bit set after the block's prefix. */
static bool is_first(const struct wire_route *b)
{
	for (unsigned bit = b->bits; bit < 128; bit++)
		if (b->first[bit / 8] & 0x80u >> bit % 8)
			return false;
	return true;
}

static bool get_block(struct wire_cursor *c, struct wire_route *ret)
{
	uint32_t bits = wire_get_u32(c);
	struct wire_route b = { .bits = bits & ~IP6, .ip6 = bits & IP6 };

	for (size_t i = 0; i < sizeof(b.first); i += 4) {
		uint32_t four = wire_get_u32(c);

		for (size_t k = 0; k < 4; k++)
			b.first[i + k] = (uint8_t)(four >> 8 * k);
	}
	*ret = b;
	return !c->failed && b.bits <= 128 && is_first(&b) &&
	       (b.ip6 || (b.bits >= IP4_BITS &&
			  !memcmp(b.first, ip4_prefix, sizeof(ip4_prefix))));
}

static int get_routes(struct wire_cursor *c, struct wire_network *net)
{
	uint32_t count = wire_get_u32(c);

	if (c->failed || count > WIRE_NETWORK_ROUTES_MAX)
		return -EPROTO;
	net->route = calloc((size_t)count + 1, sizeof(*net->route));
	if (!net->route)
		return -ENOMEM;
	for (; net->route_count < count; net->route_count++)
		if (!get_block(c, &net->route[net->route_count]))
			return -EPROTO;
	return 0;
}

int wire_network_get(const void *payload, size_t length, struct wire_network *ret)
{
	struct wire_network net = { 0 };
	struct wire_cursor c;
	int r;

	wire_begin(&c, payload, length);
	net.flags = wire_get_u32(&c);
	r = get_routes(&c, &net);
	if (!r)
		net.ca = wire_get_str(&c, WIRE_NETWORK_CA_MAX);
	if (!r && (!net.ca || wire_end(&c) || !net.flags ||
		   net.flags > WIRE_NETWORK_FLAGS))
		r = -EPROTO;
	if (r) {
		wire_network_done(&net);
		return r;
	}
	*ret = net;
	return 0;
}

void wire_network_done(struct wire_network *net)
{
	free((void *)(uintptr_t)net->ca); /* const only for callers */
	free(net->route);
	*net = (struct wire_network){ 0 };
}
