/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the door from hostile bytes, as each of the three processes gets them. What
 * passes has texts that end, numbers in their bounds, and the descriptors that it needs.
 */
#include <stdlib.h>
#include <string.h>

#include "vm/net/door_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_order(const uint8_t *data, size_t size, unsigned fds, struct err *err)
{
	struct door_order o;
	const char *wish;

	if (door_order_check(data, size, fds, &o, &wish, err) < 0) {
		check(err->text[0]);
		return;
	}
	check(sizeof(o) + o.wish_size == size && o.wish_size <= DOOR_WISH_MAX && o.job);
	check(fds == (o.op == DOOR_NEW));
}

static void check_answers(const uint8_t *data, size_t size, unsigned fds)
{
	struct door_question q;
	struct door_answer a;

	if (!door_question_check(data, size, fds, &q, NULL)) {
		check(!fds && q.name[0] && strnlen(q.name, sizeof(q.name)) < sizeof(q.name));
		check(q.port < 65536 && q.op >= DOOR_RESOLVE && q.op <= DOOR_CHECK);
	}
	if (door_answer_check(data, size, fds, &a, NULL) < 0)
		return;
	check(a.told < NET_TOLD_MAX && a.range_count <= WIRE_NET_RANGES);
	for (unsigned i = 0; i < a.range_count; i++)
		check(a.range[i].low && a.range[i].low <= a.range[i].high);
	check(fds == (a.asked == DOOR_CONNECT && a.told == NET_TOLD_OK));
}

static void check_records(const uint8_t *data, size_t size, unsigned fds)
{
	struct door_policy p;
	struct door_record r;

	if (!door_policy_check(data, size, fds, &p, NULL))
		check(fds == (p.code ? 0 : 1 + p.has_ca) && fds <= DOOR_FDS_MAX &&
		      strnlen(p.text, sizeof(p.text)) < sizeof(p.text));
	if (!door_record_check(data, size, fds, &r, NULL))
		check(!fds && r.told < NET_TOLD_MAX && net_told_names[r.told] &&
		      r.name[strlen(r.name)] == '\0' && strlen(r.why) < sizeof(r.why));
}

/* The first byte is the number of descriptors. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { .code = 0 };
	unsigned fds;

	if (!size)
		return 0;
	fds = data[0] % (DOOR_FDS_MAX + 2);
	check_order(data + 1, size - 1, fds, &err);
	check_answers(data + 1, size - 1, fds);
	check_records(data + 1, size - 1, fds);
	return 0;
}
