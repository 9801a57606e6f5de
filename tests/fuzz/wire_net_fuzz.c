/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second port's frames from hostile bytes, on both sides, into one stream. What was
 * read and is written again must be the same bytes, and no window is ever exceeded.
 */
#include <stdlib.h>
#include <string.h>

#include "guest/wire/net_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WINDOW (128u << 10)

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_frame(const uint8_t *data, const struct wire_header *h,
			struct net_stream *s)
{
	static uint8_t again[WIRE_HEADER_SIZE + WIRE_NET_PAYLOAD_MAX];
	struct wire_writer w = { again, sizeof(again), 0 };
	struct net_frame f;
	uint32_t told;

	if (wire_net_get(h, data + WIRE_HEADER_SIZE, &f) < 0)
		return;
	wire_net_put(&w, &f);
	check(w.used == WIRE_HEADER_SIZE + h->length && !memcmp(again, data, w.used));
	if (net_stream_hear(s, WINDOW, &f) < 0)
		return;
	check(s->heard <= WINDOW && s->sent <= WINDOW && s->taken <= s->heard);
	s->sent += net_stream_room(s, WINDOW) / 2;
	told = net_stream_took(s, WINDOW, (s->heard - s->taken) / 2);
	check(told <= WINDOW && s->taken <= s->heard && s->sent <= WINDOW);
}

static void check_all(const uint8_t *data, size_t size, enum wire_net_side from)
{
	struct net_stream s = { .ours = from == WIRE_NET_HOST };
	struct net_ids ids = { .side = from };
	struct wire_header h;

	while (size >= WIRE_HEADER_SIZE && !wire_net_header_get(data, from, &h) &&
	       h.length <= size - WIRE_HEADER_SIZE) {
		check(*wire_net_type_name(h.type) != '?');
		check_frame(data, &h, &s);
		data += WIRE_HEADER_SIZE + h.length;
		size -= WIRE_HEADER_SIZE + h.length;
		if (!net_ids_begin(&ids, h.length))
			check(net_ids_was(&ids, h.length));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_all(data, size, WIRE_NET_HOST);
	check_all(data, size, WIRE_NET_GUEST);
	return 0;
}
