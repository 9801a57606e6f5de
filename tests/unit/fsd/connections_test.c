/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a program: what is listed, what gives way, what the log says. */
#include "fsd/run/connections.h"

#include "tests/unit/tap.h"

static const struct result_connection made = {
	.host = "api.example", .port = 443, .address = "192.0.2.7",
	.sent = RESULT_UNKNOWN, .received = RESULT_UNKNOWN, .ms = RESULT_UNKNOWN,
	.verdict = "ok",
};

static struct result_connection ended(uint64_t sent, const char *verdict,
				      const char *reason)
{
	struct result_connection c = made;

	c.sent = sent;
	c.received = 1572;
	c.ms = 1234;
	c.verdict = verdict;
	c.reason = reason;
	return c;
}

static struct result_connection refused(const char *host, unsigned port,
					const char *verdict, const char *reason)
{
	return (struct result_connection){
		.host = host, .port = port, .verdict = verdict, .reason = reason,
		.sent = RESULT_UNKNOWN, .received = RESULT_UNKNOWN, .ms = RESULT_UNKNOWN,
	};
}

/* show() writes here the list that result.json gets. */
static struct result_connection list[CONNECTIONS_MOST];
static struct result_network shown;

static void show(const struct connections *c)
{
	connections_show(c, list, &shown);
}

static struct connections *empty(void)
{
	static struct connections c;

	memset(&c, 0, sizeof(c));
	return &c;
}

static void test_one(void)
{
	struct connections *c = empty();
	struct result_connection end = ended(805, "ok", NULL);

	connections_open(c, 7, &made);
	show(c);
	is_int(shown.count, 1, "an open connection is listed");
	ok(list[0].ms == RESULT_UNKNOWN, "without a time");
	ok(!list[0].reason, "and without a reason");
	connections_end(c, 7, &end);
	show(c);
	is_int(shown.count, 1, "its end adds no entry");
	is_int((long long)list[0].sent, 805, "its end has the bytes");
	is_int((long long)list[0].ms, 1234, "and the time");
	connections_end(c, 7, &end);
	show(c);
	is_int(shown.count, 2, "a stream of an earlier program is listed at its end");
}

static void test_refusals(void)
{
	struct connections *c = empty();
	struct result_connection evil = refused("evil.example", 0, "denied",
						"no rule names it");

	connections_end(c, 0, &evil);
	connections_end(c, 0, &evil);
	show(c);
	is_int(shown.count, 1, "equal refusals are listed once");
	is_int((long long)shown.dropped, 0, "and are none that were dropped");
	for (unsigned i = 1; i < CONNECTIONS_MOST; i++)
		connections_open(c, i, &made);
	show(c);
	is_int(shown.count, CONNECTIONS_MOST, "the list is full");
	connections_open(c, 999, &made);
	is_int((long long)c->dropped, 1, "one more connection is counted");
	connections_end(c, 999, &made);
	is_int((long long)c->dropped, 1, "and its end is not");
	evil.host = "worse.example";
	connections_end(c, 0, &evil);
	show(c);
	is_int(shown.count, CONNECTIONS_MOST, "a refusal takes a place");
	is_str(list[CONNECTIONS_MOST - 1].host, "worse.example", "at the end");
	is_str(list[0].host, "evil.example", "no refusal gave way");
	is_int((long long)c->dropped, 2, "but a connection, which is counted");
	c = empty();
	for (unsigned i = 0; i <= CONNECTIONS_MOST; i++) {
		evil.port = i + 1;
		connections_end(c, 0, &evil);
	}
	show(c);
	is_int((long long)shown.dropped, 1, "the first refusals stay");
	is_int(list[0].port, 1, "in their order");
}

static void test_ports(void)
{
	struct connections *c = empty();

	is_int(connections_ports(c), 0, "no port was connected to");
	connections_port(c, 8080, 1, 2);
	connections_port(c, 9090, 0, 0);
	connections_port(c, 8080, 3, 4);
	is_int(connections_ports(c), 2, "each port is counted once");
	is_int((long long)c->port[0].connections, 2, "with all its connections");
	is_int((long long)(c->port[0].sent * 10 + c->port[0].received), 46, "and their bytes");
	for (unsigned i = 1; i <= CONNECTIONS_PORTS; i++)
		connections_port(c, i, 1, 1);
	is_int(connections_ports(c), CONNECTIONS_PORTS, "the table is full");
	connections_port(c, 8080, 1, 1);
	is_int((long long)c->port[0].connections, 3, "a port that is in it is still counted");
}

static void test_totals(void)
{
	struct connections *c = empty();

	c->totals_only = true;
	connections_open(c, 1, &made);
	show(c);
	is_int(shown.count, 0, "with totals only no connection is listed");
	is_int((long long)shown.dropped, 1, "but counted");
}

/* The memory of a server that an attacker may have taken over. */
static void test_recovered(void)
{
	struct connections *c = empty();

	connections_open(c, 1, &made);
	connections_say(c, "x");
	memset(c->item[0].host, 7, sizeof(c->item[0].host));
	memset(c->line[0], 7, sizeof(c->line[0]));
	connections_recover(c);
	show(c);
	is_int((long long)strlen(list[0].host), 255, "a text without an end gets one");
	ok(!strchr(list[0].host, 7), "and has no control characters");
	ok(!strchr(c->line[0], 7), "nor does a line");
	is_str(list[0].address, "192.0.2.7", "a text that is right stays");
}

static void line_is(struct result_connection c, bool is_open, const char *want)
{
	auto_buf struct buf line = { 0 };

	connection_describe(&c, is_open, &line);
	is_str(line.data, want, "a line of the log");
}

static void test_lines(void)
{
	line_is(made, true, "api.example:443 (192.0.2.7) open");
	line_is(ended(805, "ok", NULL), false,
		"api.example:443 (192.0.2.7) closed after 1.2 s, 805 bytes out, 1572 in");
	line_is(ended(1, "reset", NULL), false,
		"api.example:443 (192.0.2.7) reset after 1.2 s, 1 bytes out, 1572 in");
	line_is(ended(1, "sni", "the TLS server name is \"other.example\""), false,
		"api.example:443 cut: the TLS server name is \"other.example\"");
	line_is(refused("evil.example", 0, "denied", "no rule names it"), false,
		"evil.example refused: no rule names it");
	line_is(refused("evil.example", 0, "unresolved", "does not exist"), false,
		"evil.example does not exist");
	line_is(refused("a.example", 80, "refused", "connection refused"), false,
		"a.example:80: connection refused");
	line_is(refused("2001:db8::1", 80, "timeout", "no answer in 10 s"), false,
		"[2001:db8::1]:80: no answer in 10 s");
	line_is(refused(NULL, 0, "limit", "more than 64 connections at a time"), false,
		"more than 64 connections at a time");
}

static char again[200];

static void note(void *arg, const char *text)
{
	(void)arg;
	snprintf(again, sizeof(again), "%s", text);
}

static void test_saying(void)
{
	struct connections *c = empty();
	unsigned said = 0;

	ok(connections_say(c, "x"), "a text is said");
	ok(!connections_say(c, "x"), "and not a second time");
	connections_say_again(c, note, NULL);
	is_str(again, "x, 2 times", "but with its count at the end");
	for (unsigned i = 0; i < 1000; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%u", i);
		said += connections_say(c, text);
	}
	is_int(said, CONNECTIONS_MOST - 1, "and 200 different ones at most");
}

int main(void)
{
	test_one();
	test_refusals();
	test_ports();
	test_totals();
	test_recovered();
	test_lines();
	test_saying();
	return done_testing();
}
