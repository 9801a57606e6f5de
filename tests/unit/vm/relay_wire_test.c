/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a relay's account, right and wrong ones. */
#include "vm/net/relay_wire.h"

#include "layout/base/num.h"
#include "tests/unit/tap.h"

static int order(const struct relay_order *o, unsigned fd_count)
{
	struct relay_order copy;
	int r = relay_order_check(o, sizeof(*o), fd_count, &copy, NULL);

	return r == 0 && memcmp(o, &copy, sizeof(copy)) ? 1 : r;
}

static int said(const struct relay_said *s, unsigned fd_count)
{
	struct relay_said copy;
	int r = relay_said_check(s, sizeof(*s), fd_count, &copy, NULL);

	return r == 0 && memcmp(s, &copy, sizeof(copy)) ? 1 : r;
}

static const struct relay_order start = {
	.version = RELAY_VERSION, .op = RELAY_START, .connections = 64, .rate = 20,
	.bytes = 1 << 30, .uid = 1000,
};

static void test_orders(void)
{
	static const struct {
		const char *name;
		uint32_t op, port;
		unsigned fds;
	} rows[] = {
		{ "DOOR", RELAY_DOOR, 0, 1 }, { "PORT", RELAY_PORT, 8080, 1 },
		{ "CLOSE", RELAY_CLOSE, 65535, 0 }, { "FINISH", RELAY_FINISH, 0, 0 },
	};

	is_int(order(&start, 0), 0, "START is taken");
	is_int(order(&start, 1), -EINVAL, "but not with a descriptor");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct relay_order o = { .version = RELAY_VERSION, .op = rows[i].op,
					 .port = rows[i].port };

		is_int(order(&o, rows[i].fds), 0, "%s is taken", rows[i].name);
		is_int(order(&o, !rows[i].fds), -EINVAL,
		       "but not with another number of descriptors");
		o.port = rows[i].port ? 0 : 1;
		is_int(order(&o, rows[i].fds), -EINVAL, "nor with a wrong port");
		o.port = 65536;
		is_int(order(&o, rows[i].fds), -EINVAL, "nor with one over 65535");
	}
}

static void test_limits(void)
{
	struct relay_order o = start;

	o.connections = 0;
	is_int(order(&o, 0), -EINVAL, "no connection is no limit");
	o.connections = RELAY_CONNECTIONS_MAX + 1;
	is_int(order(&o, 0), -EINVAL, "and there is a most");
	o = start;
	o.rate = RELAY_RATE_MAX + 1;
	is_int(order(&o, 0), -EINVAL, "a rate has a most");
	o = start;
	o.bytes = 0;
	is_int(order(&o, 0), -EINVAL, "0 bytes are no limit");
	o = start;
	o.version++;
	is_int(order(&o, 0), -EINVAL, "another version is refused");
	o = start;
	o.op = RELAY_READY;
	is_int(order(&o, 0), -EINVAL, "the relay's words are no orders");
	is_int(relay_order_check(&start, sizeof(start) - 1, 0, &o, NULL), -EINVAL,
	       "a short message is refused");
}

static void test_said(void)
{
	struct relay_said s = { .version = RELAY_VERSION, .op = RELAY_ENDED, .stream = 7,
				.told = NET_TOLD_RESET, .sent = 1, .received = 2, .ms = 3,
				.text = "the server reset it" };

	is_int(said(&s, 0), 0, "ENDED is taken");
	is_int(said(&s, 1), -EINVAL, "the relay sends no descriptors");
	s.told = NET_TOLD_MAX;
	is_int(said(&s, 0), -EINVAL, "there are no other verdicts");
	s.told = NET_TOLD_OK;
	s.text[3] = '\n';
	is_int(said(&s, 0), -EINVAL, "a text is one line");
	memset(s.text, 'a', sizeof(s.text));
	is_int(said(&s, 0), -EINVAL, "and ends within its array");
	s.text[0] = '\0';
	s.op = RELAY_FINISH;
	is_int(said(&s, 0), -EINVAL, "orders are not the relay's");
	s.op = RELAY_OPS;
	is_int(said(&s, 0), -EINVAL, "and no other words exist");
}

int main(void)
{
	test_orders();
	test_limits();
	test_said();
	return done_testing();
}
