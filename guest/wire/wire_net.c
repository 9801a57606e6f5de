/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns frames of the second port into bytes and back. The table `rows` has what each
 * type carries and which side may send it, so a decoder has no case for a type.
 *
 * The peer may be hostile on either side: a guest that was taken over, or a relay that
 * was. Every length is compared with what is left before it is used.
 */
#include "wire_net.h"

#include <errno.h>
#include <string.h>

enum carries {
	ID = 1, PORT = 2, NAME = 4, LIMITS = 8, TAKEN = 16, RANGES = 32, BYTES = 64
};

static const struct row {
	const char *name;
	unsigned from;    /* enum wire_net_side */
	unsigned carries; /* fields that the type carries: bits, in the order of enum
			   * carries */
	unsigned args;    /* number of values of arg; 0: arg must be 0 */
} rows[WIRE_NET_TYPES] = {
	[WIRE_NET_START] = { "START", WIRE_NET_HOST, LIMITS, 0 },
	[WIRE_NET_ANSWER] = { "ANSWER", WIRE_NET_HOST, ID | RANGES, NET_ANSWERS },
	[WIRE_NET_CONNECT] = { "CONNECT", WIRE_NET_HOST, ID | PORT, 0 },
	[WIRE_NET_FINISH] = { "FINISH", WIRE_NET_HOST, 0, 0 },
	[WIRE_NET_RESOLVE] = { "RESOLVE", WIRE_NET_GUEST, ID | NAME, 0 },
	[WIRE_NET_OPEN] = { "OPEN", WIRE_NET_GUEST, ID | PORT | NAME, 0 },
	[WIRE_NET_FINISHED] = { "FINISHED", WIRE_NET_GUEST, 0, 0 },
	[WIRE_NET_FULL] = { "FULL", WIRE_NET_GUEST, 0, 0 },
	[WIRE_NET_OPENED] = { "OPENED", WIRE_NET_HOST | WIRE_NET_GUEST, ID, 0 },
	[WIRE_NET_DATA] = { "DATA", WIRE_NET_HOST | WIRE_NET_GUEST, ID | BYTES, 0 },
	[WIRE_NET_WINDOW] = { "WINDOW", WIRE_NET_HOST | WIRE_NET_GUEST, ID | TAKEN, 0 },
	[WIRE_NET_END] = { "END", WIRE_NET_HOST | WIRE_NET_GUEST, ID, 0 },
	[WIRE_NET_RESET] = { "RESET", WIRE_NET_HOST | WIRE_NET_GUEST, ID, NET_RESETS },
};

const char *wire_net_type_name(unsigned type)
{
	return type < WIRE_NET_TYPES && rows[type].name ? rows[type].name : "?";
}

/* --- header ----------------------------------------------------------------------- */

static uint32_t load32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

int wire_net_header_get(const uint8_t *p, enum wire_net_side from,
			struct wire_header *ret)
{
	struct wire_header h = { load32(p), p[6], p[7] };

	if (((unsigned)p[4] | (unsigned)p[5] << 8) != WIRE_NET_MAGIC ||
	    h.type >= WIRE_NET_TYPES || !(rows[h.type].from & from) ||
	    h.length > WIRE_NET_PAYLOAD_MAX ||
	    h.arg > (rows[h.type].args ? rows[h.type].args - 1 : 0))
		return -EPROTO;
	*ret = h;
	return 0;
}

/* --- payload ---------------------------------------------------------------------- */

static uint32_t get_between(struct wire_cursor *c, uint32_t low, uint32_t high)
{
	uint32_t v = wire_get_u32(c);

	if (v < low || v > high)
		c->failed = true;
	return c->failed ? 0 : v;
}

static void get_name(struct wire_cursor *c, char ret[WIRE_NET_NAME_MAX + 1])
{
	uint32_t size = get_between(c, 1, WIRE_NET_NAME_MAX);

	if (c->failed || size > (size_t)(c->end - c->p)) {
		c->failed = true;
		return;
	}
	memcpy(ret, c->p, size);
	ret[size] = '\0';
	c->p += size;
	if (strlen(ret) != size || !wire_text_ok(ret))
		c->failed = true;
}

static void get_limits(struct wire_cursor *c, struct net_frame *f)
{
	f->window = get_between(c, WIRE_NET_WINDOW_MIN, WIRE_NET_WINDOW_MAX);
	f->streams = get_between(c, 1, WIRE_NET_STREAMS_MAX);
	f->names = get_between(c, 1, WIRE_NET_NAMES_MAX);
}

/* An answer that allows a name says which ports; another says none. */
static void get_ranges(struct wire_cursor *c, struct net_frame *f)
{
	while (!c->failed && c->p < c->end && f->range_count < WIRE_NET_RANGES) {
		uint32_t both = wire_get_u32(c);
		struct net_range r = { (uint16_t)both, (uint16_t)(both >> 16) };

		if (!r.low || r.low > r.high)
			c->failed = true;
		f->range[f->range_count++] = r;
	}
	if ((f->arg == NET_ANSWER_OK) != (f->range_count > 0))
		c->failed = true;
}

static void get_bytes(struct wire_cursor *c, struct net_frame *f)
{
	if (c->failed || c->p == c->end) {
		c->failed = true;
		return;
	}
	f->data = c->p;
	f->size = (size_t)(c->end - c->p);
	c->p = c->end;
}

int wire_net_get(const struct wire_header *header, const uint8_t *payload,
		 struct net_frame *ret)
{
	struct net_frame f = { .type = header->type, .arg = header->arg };
	unsigned carries = rows[header->type].carries;
	struct wire_cursor c;

	wire_begin(&c, payload, header->length);
	if (carries & ID)
		f.id = wire_get_u32(&c);
	if (carries & PORT)
		f.port = get_between(&c, 1, UINT16_MAX);
	if (carries & NAME)
		get_name(&c, f.name);
	if (carries & LIMITS)
		get_limits(&c, &f);
	if (carries & TAKEN)
		f.window = get_between(&c, 1, WIRE_NET_WINDOW_MAX);
	if (carries & RANGES)
		get_ranges(&c, &f);
	if (carries & BYTES)
		get_bytes(&c, &f);
	if (wire_end(&c) < 0)
		return -EPROTO;
	*ret = f;
	return 0;
}

static void put_payload(struct wire_writer *w, const struct net_frame *f)
{
	unsigned carries = rows[f->type].carries;

	if (carries & ID)
		wire_put_u32(w, f->id);
	if (carries & PORT)
		wire_put_u32(w, f->port);
	if (carries & NAME)
		wire_put_str(w, f->name);
	if (carries & (LIMITS | TAKEN))
		wire_put_u32(w, f->window);
	if (carries & LIMITS) {
		wire_put_u32(w, f->streams);
		wire_put_u32(w, f->names);
	}
	for (uint32_t i = 0; carries & RANGES && i < f->range_count; i++)
		wire_put_u32(w, f->range[i].low | (uint32_t)f->range[i].high << 16);
	if (carries & BYTES)
		wire_put_bytes(w, f->data, f->size);
}

void wire_net_put(struct wire_writer *w, const struct net_frame *frame)
{
	struct wire_writer count = { NULL, 0, 0 };
	uint8_t tail[4] = { WIRE_NET_MAGIC & 0xff, WIRE_NET_MAGIC >> 8, frame->type,
			    frame->arg };

	put_payload(&count, frame);
	wire_put_u32(w, (uint32_t)count.used);
	wire_put_bytes(w, tail, sizeof(tail));
	put_payload(w, frame);
}
