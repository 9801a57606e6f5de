/* SPDX-License-Identifier: Apache-2.0 */
/* What a relay does not do: limits, foreign TLS names, a door that is gone, and guests
 * that break the protocol. */
#include "relay_fixture.h"

static void test_connections(void)
{
	struct relay_order o = usual;
	struct peers *p;
	struct relay_said s;
	int server;

	o.connections = 1;
	p = relay_starts(&o, true);
	server = opens(p, 1, "api.example.org", 80, false);
	guest_put(p, .type = WIRE_NET_OPEN, .id = 2, .port = 80, .name = "b.example");
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_LIMIT, 2), "one too many is reset");
	s = server_hears(p);
	ok(s.told == NET_TOLD_LIMIT &&
	   !strcmp(s.text, "more than 1 connections at a time; some were refused"), "and told");
	guest_put(p, .type = WIRE_NET_RESET, .id = 1, .arg = NET_RESET_PEER);
	close(opens(p, 3, "b.example", 80, false));
	ok(guest_gets(p, WIRE_NET_END, 0, 3), "the place of one that has ended is free");
	relay_ends(p);
	close(server);
}

static void test_bytes(void)
{
	struct relay_order o = usual;
	struct peers *p;
	int one, two;

	o.bytes = 10;
	p = relay_starts(&o, true);
	one = opens(p, 1, "api.example.org", 80, false);
	two = opens(p, 2, "api.example.org", 80, false);
	guest_sends(p, 1, "12345");
	ok(server_reads(one, "12345"), "bytes are counted in both directions");
	send(two, "12345", 5, 0);
	ok(guest_gets_data(p, 2, "12345"), "of all streams");
	guest_sends(p, 1, "6");
	ok(guest_get(p)->type == WIRE_NET_RESET && p->frame.arg == NET_RESET_LIMIT &&
	   guest_get(p)->type == WIRE_NET_RESET, "one too many cuts all");
	is_int((int)server_hears(p).told, NET_TOLD_LIMIT, "the reason is told");
	is_int(server_end(one), 0, "and the byte is not sent");
	guest_put(p, .type = WIRE_NET_OPEN, .id = 3, .port = 80, .name = "b.example");
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_LIMIT, 3), "no other can be opened");
	relay_ends(p);
	close(one);
	close(two);
}

static void hears_note(struct peers *p, const char *text)
{
	struct relay_said s = server_hears(p);

	is_int(s.op, RELAY_NOTE, "a sentence for the log comes");
	ok(!strcmp(s.text, text), "it is: %s", text);
}

static void test_names(void)
{
	struct peers *p = relay_starts(&usual, true);

	guest_put(p, .type = WIRE_NET_FULL);
	guest_put(p, .type = WIRE_NET_FULL);
	hears_note(p, "over 4096 different names at a time");
	order(p, -1, .op = RELAY_FINISH);
	ok(guest_gets(p, WIRE_NET_FINISH, 0, 0), "the guest hears FINISH");
	guest_put(p, .type = WIRE_NET_FINISHED);
	is_int(server_hears(p).op, RELAY_FINISHED, "the sentence comes once");
	relay_ends(p);
}

static void test_rate(void)
{
	struct relay_order o = usual;
	struct peers *p;
	struct door_question q;

	o.rate = 2;
	p = relay_starts(&o, true);
	for (uint32_t i = 1; i <= 11; i++)
		guest_put(p, .type = WIRE_NET_RESOLVE, .id = i, .name = "a.example");
	for (uint32_t i = 1; i <= 10; i++)
		q = door_hears(p);
	is_int(q.id, 10, "5 s of the rate may come at once");
	ok(relay_barrier(p), "what comes then waits");
	is_int(recv(p->door, &q, sizeof(q), MSG_DONTWAIT), -1, "and is not asked");
	hears_note(p, "slowed down to 2 connections a second");
	relay_passes(p, 501);
	is_int(door_hears(p).id, 11, "until its time has come");
	relay_ends(p);
}

static void test_rate_over(void)
{
	struct relay_order o = usual;
	struct peers *p;
	struct relay_said s;

	o.rate = 1;
	p = relay_starts(&o, true);
	for (uint32_t i = 1; i <= 20; i++)
		guest_put(p, .type = WIRE_NET_OPEN, .id = i, .port = 80,
			  .name = "a.example");
	for (uint32_t i = 1; i <= 5; i++)
		door_hears(p);
	ok(relay_barrier(p), "more than 5 s of the rate waits");
	hears_note(p, "slowed down to 1 connections a second");
	relay_passes(p, 5001);
	guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_NONE, 999999);
	for (uint32_t i = 6; i <= 20; i++)
		if (!guest_gets(p, WIRE_NET_RESET, NET_RESET_LIMIT, i))
			break;
	is_int(p->frame.id, 20, "after 5 s it is reset");
	s = server_hears(p);
	ok(s.told == NET_TOLD_LIMIT && s.text[0], "and told");
	relay_ends(p);
}

static void test_without_door(void)
{
	struct peers *p = relay_starts(&usual, false);

	guest_put(p, .type = WIRE_NET_RESOLVE, .id = 1, .name = "a.example");
	guest_put(p, .type = WIRE_NET_OPEN, .id = 1, .port = 80, .name = "a.example");
	ok(relay_barrier(p), "without a door questions wait");
	relay_passes(p, 5001);
	guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_NONE, 999999);
	ok(guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_AGAIN, 1), "for 5 s");
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_FAILED, 1), "and then fail");
	is_int((int)server_hears(p).told, NET_TOLD_LOST, "which is told");
	guest_put(p, .type = WIRE_NET_RESOLVE, .id = 2, .name = "b.example");
	new_door(p);
	is_int(door_hears(p).id, 2, "a door gets those that wait");
	relay_ends(p);
}

static void test_next_door(void)
{
	struct peers *p = relay_starts(&usual, true);
	int one = opens(p, 1, "a.example", 80, false);
	int two = opens(p, 2, "b.example", 80, false);
	struct door_question q;

	guest_put(p, .type = WIRE_NET_RESOLVE, .id = 9, .name = "c.example");
	door_hears(p);
	new_door(p); /* without an answer of the last one */
	for (int i = 0; i < 3; i++) {
		q = door_hears(p);
		if (q.op == DOOR_CHECK)
			answer(p, &q, -1, .told = q.id == 2 ? NET_TOLD_DENIED : NET_TOLD_OK);
		else
			is_int(q.id, 9, "the next door gets what has no answer");
		ok(q.op != DOOR_CHECK || (q.has_address && q.port == 80 &&
		   !memcmp(&q.address, &some_address, sizeof(some_address))),
		   "and is asked about each stream, with its server");
	}
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_REFUSED, 2), "one that it refuses is cut");
	is_int((int)server_hears(p).told, NET_TOLD_DENIED, "and told");
	guest_sends(p, 1, "on");
	ok(server_reads(one, "on"), "the other goes on");
	close(p->door);
	p->door = -1;
	guest_sends(p, 1, "and on");
	ok(server_reads(one, "and on"), "also without a door");
	relay_ends(p);
	close(one);
	close(two);
}

/* --- TLS ---------------------------------------------------------------------------- */

/* A hello of 67 bytes for the name "a.example". */
static const char hello[] =
	"\x16\x03\x01\x00\x41\x01\x00\x00\x3d\x03\x03"
	"RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR"
	"\x00\x00\x02\x13\x01\x01\x00\x00\x12"
	"\x00\x00\x00\x0e\x00\x0c\x00\x00\x09" "a.example";
#define HELLO_SIZE (sizeof(hello) - 1)

static void guest_sends_hello(struct peers *p, uint32_t id, size_t from, size_t size)
{
	guest_put(p, .type = WIRE_NET_DATA, .id = id,
		  .data = (const uint8_t *)hello + from, .size = size);
}

static void test_tls(void)
{
	struct peers *p = relay_starts(&usual, true);
	int server = opens(p, 1, "a.example", 443, true);
	struct relay_said s;
	char got[HELLO_SIZE], c;

	for (size_t i = 0; i + 1 < HELLO_SIZE; i++)
		guest_sends_hello(p, 1, i, 1);
	ok(relay_barrier(p), "a hello comes byte by byte");
	is_int(recv(server, &c, 1, MSG_DONTWAIT), -1, "nothing passes before it is whole");
	guest_sends_hello(p, 1, HELLO_SIZE - 1, 1);
	relay_wait(server, "no hello came");
	is_int(recv(server, got, sizeof(got), MSG_WAITALL), (int)HELLO_SIZE, "then all does");
	ok(!memcmp(got, hello, HELLO_SIZE), "unchanged");
	guest_sends(p, 1, "anything");
	ok(server_reads(server, "anything"), "and what comes then is not looked at");
	close(server);
	guest_gets(p, WIRE_NET_END, 0, 1);
	server = opens(p, 2, "b.example", 443, true);
	guest_sends_hello(p, 2, 0, HELLO_SIZE);
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_REFUSED, 2), "another name is cut");
	s = server_hears(p);
	ok(s.told == NET_TOLD_SNI && !strcmp(s.text, "the TLS server name is \"a.example\""),
	   "and told");
	is_int(server_end(server), 0, "the server gets no byte of it");
	close(server);
	server = opens(p, 3, "a.example", 443, true);
	guest_sends_hello(p, 3, 0, 20);
	guest_put(p, .type = WIRE_NET_END, .id = 3);
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_REFUSED, 3), "half a hello is cut");
	close(server);
	server = opens(p, 4, "a.example", 443, true);
	guest_sends_hello(p, 4, 0, 20);
	ok(relay_barrier(p), "another half waits");
	relay_passes(p, 5001);
	guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_NONE, 999999);
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_REFUSED, 4), "a slow one after 5 s");
	close(server);
	relay_ends(p);
}

/* --- what a guest may not do -------------------------------------------------------- */

static void put_wrong(struct peers *p, unsigned n)
{
	static uint8_t block[WIRE_NET_DATA_MAX];

	switch (n) {
	case 0:
		guest_bytes(p, "\0\0\0\0\0\0\0\0", 8);
		return;
	case 1:
		guest_put(p, .type = WIRE_NET_START, .window = 65536, .streams = 1,
			  .names = 1);
		return;
	case 2:
		guest_put(p, .type = WIRE_NET_WINDOW, .id = 7, .window = 1);
		return;
	case 3:
		guest_put(p, .type = WIRE_NET_OPEN, .id = 1, .port = 80, .name = "a.example");
		return;
	case 4:
		guest_put(p, .type = WIRE_NET_OPEN, .id = WIRE_NET_HOSTS | 3, .port = 80,
			  .name = "a.example");
		return;
	case 5:
		for (int i = 0; i < 9; i++)
			guest_put(p, .type = WIRE_NET_DATA, .id = 1, .data = block,
				  .size = sizeof(block));
		return;
	case 6:
		guest_put(p, .type = WIRE_NET_WINDOW, .id = 1, .window = 1);
		return;
	case 7:
		guest_put(p, .type = WIRE_NET_END, .id = 1);
		guest_sends(p, 1, "more");
		return;
	case 8:
		guest_put(p, .type = WIRE_NET_OPENED, .id = 1);
		return;
	default:
		guest_put(p, .type = WIRE_NET_FINISHED);
	}
}

static void test_broken(void)
{
	static const char *const words[] = {
		"a frame that a machine does not send, of type 0",
		"a frame that a machine does not send, of type 1",
		"WINDOW for a stream that was never opened",
		"OPEN of a stream with a number that is not new",
		"OPEN of a stream with a number that is not new",
		"DATA that a stream may not have then",
		"WINDOW that a stream may not have then",
		"DATA that a stream may not have then",
		"OPENED that a stream may not have then",
		"FINISHED that was not asked for",
	};

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		struct peers *p = relay_starts(&usual, true);
		int server = opens(p, 1, "api.example.org", 80, false);
		struct relay_said s;

		put_wrong(p, i);
		s = server_hears(p);
		ok(s.op == RELAY_BROKE, "the relay ends (%u)", i);
		is_str(s.text, words[i], "and says why");
		is_int(relay_ends(p), RELAY_EXIT_BROKE, "by its status, too");
		close(server);
	}
}

/* --- a server that does not listen -------------------------------------------------- */

static void test_deaf_server(void)
{
	struct relay_order o = usual;
	struct relay_said s = { 0 };
	struct peers *p;
	unsigned heard = 0;
	int server;

	o.connections = 1;
	p = relay_starts(&o, true);
	server = opens(p, 1, "api.example.org", 80, false);
	for (uint32_t i = 2; i < 3000; i++) {
		guest_put(p, .type = WIRE_NET_OPEN, .id = i, .port = 80, .name = "b.example");
		if (!guest_gets(p, WIRE_NET_RESET, NET_RESET_LIMIT, i))
			break;
	}
	is_int(p->frame.id, 2999, "a server that does not read stops no guest");
	guest_sends(p, 1, "on");
	ok(server_reads(server, "on"), "and no stream");
	order(p, -1, .op = RELAY_FINISH);
	ok(guest_gets(p, WIRE_NET_FINISH, 0, 0), "its orders are carried out");
	guest_put(p, .type = WIRE_NET_FINISHED);
	while (s.op != RELAY_FINISHED) {
		s = server_hears(p);
		heard += s.op == RELAY_ENDED;
	}
	is_int((long long)(heard + s.dropped), 2999, "each end is told, or counted as dropped");
	ok(heard >= 248 && s.dropped > 0, "%u were told", heard);
	relay_ends(p);
	close(server);
}

static void test_wrong_orders(void)
{
	struct peers *p = relay_starts(&usual, false);

	order(p, -1, .op = RELAY_START, .connections = 1, .rate = 1, .bytes = 1);
	is_int(server_hears(p).op, 0, "a second START ends the relay");
	is_int(relay_ends(p), 1, "with status 1");
}

int main(void)
{
	test_connections();
	test_bytes();
	test_names();
	test_rate();
	test_rate_over();
	test_without_door();
	test_next_door();
	test_tls();
	test_broken();
	test_deaf_server();
	test_wrong_orders();
	return done_testing();
}
