/* SPDX-License-Identifier: Apache-2.0 */
/* The second port's frames, and the order in which those of a stream may come. */
#include "guest/wire/net_stream.h"

#include <errno.h>

#include "layout/base/num.h"
#include "tests/unit/tap.h"

#define WINDOW (128u << 10)

static uint8_t bytes[WIRE_HEADER_SIZE + WIRE_NET_PAYLOAD_MAX + 64];

static enum wire_net_side sender(unsigned type)
{
	return type < WIRE_NET_RESOLVE ? WIRE_NET_HOST : WIRE_NET_GUEST;
}

/* Return: its bytes. */
static size_t written(const struct net_frame *f)
{
	struct wire_writer w = { bytes, sizeof(bytes), 0 };

	wire_net_put(&w, f);
	return w.used;
}

static int read_back(enum wire_net_side from, size_t used, struct net_frame *ret)
{
	struct wire_header h;
	int r = wire_net_header_get(bytes, from, &h);

	if (r == 0 && h.length != used - WIRE_HEADER_SIZE)
		return -EBADMSG;
	return r < 0 ? r : wire_net_get(&h, bytes + WIRE_HEADER_SIZE, ret);
}

static const struct net_frame frames[] = {
	{ .type = WIRE_NET_START, .window = WINDOW, .streams = 1024, .names = 4096 },
	{ .type = WIRE_NET_ANSWER, .id = 7, .range_count = 2,
	  .range = { { 80, 80 }, { 8000, 65535 } } },
	{ .type = WIRE_NET_ANSWER, .id = 7, .arg = NET_ANSWER_NONE },
	{ .type = WIRE_NET_CONNECT, .id = WIRE_NET_HOSTS | 1, .port = 8080 },
	{ .type = WIRE_NET_FINISH },
	{ .type = WIRE_NET_RESOLVE, .id = 1, .name = "api.example.org" },
	{ .type = WIRE_NET_OPEN, .id = 2, .port = 65535, .name = "2001:db8::5" },
	{ .type = WIRE_NET_FINISHED },
	{ .type = WIRE_NET_FULL },
	{ .type = WIRE_NET_OPENED, .id = 2 },
	{ .type = WIRE_NET_DATA, .id = 2, .data = (const uint8_t *)"abc", .size = 3 },
	{ .type = WIRE_NET_WINDOW, .id = 2, .window = 1 },
	{ .type = WIRE_NET_END, .id = 2 },
	{ .type = WIRE_NET_RESET, .id = 2, .arg = NET_RESET_LIMIT },
};

static bool is_same(const struct net_frame *a, const struct net_frame *b)
{
	return a->type == b->type && a->arg == b->arg && a->id == b->id &&
	       a->port == b->port && a->window == b->window &&
	       a->streams == b->streams && a->names == b->names &&
	       a->range_count == b->range_count &&
	       !memcmp(a->range, b->range, sizeof(a->range)) &&
	       !strcmp(a->name, b->name) && a->size == b->size &&
	       !memcmp(a->size ? a->data : bytes, a->size ? b->data : bytes, a->size);
}

static void test_frames(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		const struct net_frame *f = &frames[i];
		size_t used = written(f);
		struct net_frame again;

		is_int(read_back(sender(f->type), used, &again), 0, "%s is read",
		       wire_net_type_name(f->type));
		ok(is_same(f, &again), "and is what was written");
	}
}

static void test_sides(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		const struct net_frame *f = &frames[i];
		size_t used = written(f);
		struct net_frame again;

		is_int(read_back(sender(f->type) == WIRE_NET_HOST ? WIRE_NET_GUEST
								   : WIRE_NET_HOST,
				 used, &again),
		       f->type >= WIRE_NET_OPENED && f->type <= WIRE_NET_RESET ? 0 : -EPROTO,
		       "%s of the other side", wire_net_type_name(f->type));
	}
}

/* Each byte less, and one more. */
static void test_cut(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		const struct net_frame *f = &frames[i];
		size_t used = written(f);
		struct wire_header h = { .type = f->type, .arg = f->arg };
		struct net_frame again;
		unsigned taken = 0;

		for (h.length = 0; h.length <= used - WIRE_HEADER_SIZE + 1; h.length++)
			if (h.length != used - WIRE_HEADER_SIZE)
				taken += !wire_net_get(&h, bytes + WIRE_HEADER_SIZE,
						       &again);
		/* an answer of one range less is an answer; data may have any length */
		is_int(taken, f->type == WIRE_NET_DATA ? 3 :
			      f->range_count ? 1 : 0,
		       "%s of another length", wire_net_type_name(f->type));
	}
}

static void wrong(struct net_frame f, const char *what)
{
	struct net_frame again;

	is_int(read_back(sender(f.type), written(&f), &again), -EPROTO, "%s", what);
}

static void test_limits(void)
{
	static uint8_t much[WIRE_NET_DATA_MAX + 1];
	struct wire_header h;

	wrong((struct net_frame){ .type = WIRE_NET_OPEN, .id = 1, .name = "a" },
	      "port 0");
	wrong((struct net_frame){ .type = WIRE_NET_OPEN, .id = 1, .port = 65536,
				  .name = "a" }, "port 65536");
	wrong((struct net_frame){ .type = WIRE_NET_RESOLVE, .id = 1 }, "no name");
	wrong((struct net_frame){ .type = WIRE_NET_RESOLVE, .name = "a\n" },
	      "a name with a newline");
	wrong((struct net_frame){ .type = WIRE_NET_ANSWER }, "a name without ports");
	wrong((struct net_frame){ .type = WIRE_NET_ANSWER, .range_count = 1,
				  .range = { { 5, 4 } } }, "a range of none");
	wrong((struct net_frame){ .type = WIRE_NET_ANSWER, .arg = NET_ANSWER_NONE,
				  .range_count = 1, .range = { { 5, 5 } } },
	      "ports of no name");
	wrong((struct net_frame){ .type = WIRE_NET_ANSWER, .arg = NET_ANSWERS },
	      "an answer that there is not");
	wrong((struct net_frame){ .type = WIRE_NET_RESET, .arg = NET_RESETS },
	      "a reason that there is not");
	wrong((struct net_frame){ .type = WIRE_NET_DATA }, "no data");
	wrong((struct net_frame){ .type = WIRE_NET_DATA, .data = much,
				  .size = sizeof(much) }, "16 KiB and a byte");
	wrong((struct net_frame){ .type = WIRE_NET_WINDOW }, "a window of nothing");
	wrong((struct net_frame){ .type = WIRE_NET_START, .window = 1, .streams = 1,
				  .names = 1 }, "a window below one frame");
	written(&frames[0]);
	bytes[4]++;
	is_int(wire_net_header_get(bytes, WIRE_NET_HOST, &h), -EPROTO, "another magic");
	wire_header_put(bytes, 0, 1, 0);
	is_int(wire_net_header_get(bytes, WIRE_NET_HOST, &h), -EPROTO,
	       "a frame of the wire");
}

/* --- streams ---------------------------------------------------------------------- */

static int hear(struct net_stream *s, uint8_t type, size_t size)
{
	struct net_frame f = { .type = type, .size = size, .window = (uint32_t)size };

	return net_stream_hear(s, WINDOW, &f);
}

static void test_order(void)
{
	struct net_stream s = { .id = 1, .ours = true };

	is_int(net_stream_room(&s, WINDOW), 0, "nothing is sent before OPENED");
	is_int(hear(&s, WIRE_NET_DATA, 1), -EPROTO, "nor does anything come");
	is_int(hear(&s, WIRE_NET_END, 0), -EPROTO, "nor an end");
	is_int(hear(&s, WIRE_NET_OPENED, 0), 0, "OPENED comes once");
	is_int(hear(&s, WIRE_NET_OPENED, 0), -EPROTO, "and not twice");
	is_int(net_stream_room(&s, WINDOW), WINDOW, "then a window may be sent");
	is_int(hear(&s, WIRE_NET_CONNECT, 0), -EPROTO, "a stream has no other frames");
	is_int(hear(&s, WIRE_NET_END, 0), 0, "the peer ends its direction");
	is_int(hear(&s, WIRE_NET_DATA, 1), -EPROTO, "and sends nothing then");
	ok(!net_stream_is_over(&s), "the other direction goes on");
	s.said_end = true;
	ok(net_stream_is_over(&s), "until it is ended, too");
	is_int(net_stream_room(&s, WINDOW), 0, "and nothing more may be sent");
	s = (struct net_stream){ .id = 1 };
	is_int(hear(&s, WIRE_NET_OPENED, 0), -EPROTO, "who asks does not answer itself");
	is_int(hear(&s, WIRE_NET_RESET, 0), 0, "a reset may come at any time");
	ok(net_stream_is_over(&s), "and is the end");
}

static void test_window(void)
{
	struct net_stream s = { .id = 1, .opened = true };

	is_int(hear(&s, WIRE_NET_DATA, WINDOW), 0, "a window of bytes may come");
	is_int(hear(&s, WIRE_NET_DATA, 1), -EPROTO, "and not a byte more");
	is_int(net_stream_took(&s, WINDOW, WINDOW / 4 - 1), 0, "little is not told");
	is_int(net_stream_took(&s, WINDOW, 1), WINDOW / 4, "a quarter is");
	is_int(hear(&s, WIRE_NET_DATA, WINDOW / 4), 0, "and as much may come then");
	is_int(hear(&s, WIRE_NET_DATA, 1), -EPROTO, "and no more");
	s.sent = 10;
	is_int(net_stream_room(&s, WINDOW), WINDOW - 10, "what was sent takes room");
	is_int(hear(&s, WIRE_NET_WINDOW, 11), -EPROTO, "not more than that is taken");
	is_int(hear(&s, WIRE_NET_WINDOW, 10), 0, "until it is acknowledged");
	is_int(net_stream_room(&s, WINDOW), WINDOW, "then there is all of it again");
}

static void test_ids(void)
{
	struct net_ids guest = { .side = WIRE_NET_GUEST }, host = { .side = WIRE_NET_HOST };
	uint32_t id = net_ids_next(&guest);

	ok(id == 1 && net_ids_next(&guest) == 2, "numbers rise");
	ok(net_ids_next(&host) == (WIRE_NET_HOSTS | 1), "the host's have bit 31");
	is_int(net_ids_begin(&host, 2), 0, "a number may be left out");
	is_int(net_ids_begin(&host, 2), -EPROTO, "but not come twice");
	is_int(net_ids_begin(&host, 1), -EPROTO, "nor fall");
	is_int(net_ids_begin(&host, WIRE_NET_HOSTS | 9), -EPROTO, "nor be this side's");
	is_int(net_ids_begin(&guest, 9), -EPROTO, "on the other side as well");
	is_int(net_ids_begin(&guest, 0), -EPROTO, "0 is no stream");
	ok(net_ids_was(&host, 1) && net_ids_was(&host, 2) && !net_ids_was(&host, 3) &&
	   net_ids_was(&host, WIRE_NET_HOSTS | 1) && !net_ids_was(&host, 0) &&
	   !net_ids_was(&host, WIRE_NET_HOSTS | 2), "each side knows which there were");
	guest.last[0] = ~WIRE_NET_HOSTS;
	is_int(net_ids_next(&guest), 0, "and when there are no more");
}

int main(void)
{
	test_frames();
	test_sides();
	test_cut();
	test_limits();
	test_order();
	test_window();
	test_ids();
	return done_testing();
}
