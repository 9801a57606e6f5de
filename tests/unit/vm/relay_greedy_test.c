/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that take all that a relay gives: streams by the thousand, at once and in turn,
 * unread ones, slow hellos, single bytes. What they get is bounded, and others go on. */
#include "relay_fixture.h"

#include <malloc.h>

/* Bytes of the heap in use; 0 with sanitizers. */
static size_t heap(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void test_at_once(void)
{
	struct peers *p = relay_starts(&usual, true);
	unsigned refused = 0;
	struct door_question q;
	size_t before = heap();

	for (uint32_t i = 1; i <= 1000; i++)
		guest_put(p, .type = WIRE_NET_OPEN, .id = i, .port = 80, .name = "a.example");
	for (uint32_t i = 65; i <= 1000; i++)
		refused += guest_gets(p, WIRE_NET_RESET, NET_RESET_LIMIT, i);
	is_int(refused, 936, "of 1,000 connections at once those over 64 are reset");
	for (uint32_t i = 1; i <= 64; i++)
		q = door_hears(p);
	is_int(q.id, 64, "the door is asked for 64");
	is_int(recv(p->door, &q, sizeof(q), MSG_DONTWAIT), -1, "and for no other one");
	ok(heap() < before + (1 << 20), "which costs no megabyte");
	relay_ends(p);
}

static void test_in_turn(void)
{
	struct relay_order o = usual;
	struct peers *p;
	unsigned right = 0;
	size_t before = 0;

	o.rate = RELAY_RATE_MAX;
	p = relay_starts(&o, true);
	for (uint32_t i = 1; i <= 10000; i++) {
		int server;

		if (i == 100)
			before = heap();
		server = opens(p, i, "a.example", 80, false);
		send(server, "x", 1, 0);
		right += guest_gets_data(p, i, "x");
		guest_put(p, .type = WIRE_NET_END, .id = i);
		close(server);
		right += guest_gets(p, WIRE_NET_END, 0, i) &&
			 server_hears(p).stream == i;
		/* the rate is tried elsewhere */
		relay_ahead_ns += 1000000;
	}
	is_int(right, 20000, "10,000 connections in turn, each with its byte and end");
	ok(heap() < before + 4096, "leave nothing in the relay");
	relay_ends(p);
}

static void test_unread(void)
{
	enum { COUNT = 200 };
	static uint8_t block[WIRE_NET_DATA_MAX];
	struct relay_order o = usual;
	int server[COUNT + 1];
	uint32_t window, each;
	struct peers *p;
	size_t before;

	o.connections = COUNT + 1;
	p = relay_starts(&o, true);
	window = p->frame.window;
	each = window / 2;
	before = heap();
	for (uint32_t i = 0; i < COUNT; i++) {
		server[i] = opens(p, i + 1, "a.example", 80, false);
		for (uint32_t sent = 0; sent < each; sent += WIRE_NET_DATA_MAX)
			guest_put(p, .type = WIRE_NET_DATA, .id = i + 1, .data = block,
				  .size = MIN(each - sent, WIRE_NET_DATA_MAX));
	}
	server[COUNT] = opens(p, COUNT + 1, "b.example", 80, false);
	guest_sends(p, COUNT + 1, "on");
	ok(server_reads(server[COUNT], "on"), "beside 200 servers that never read one does");
	ok(heap() < before + ((size_t)COUNT + 20) * (window + 1024),
	   "a stream that is not read costs its window, %u bytes", window);
	ok(heap() < before + (12u << 20), "and all of them 12 MiB at most");
	for (uint32_t i = 0; i <= COUNT; i++)
		close(server[i]);
	relay_ends(p);
}

/* A hello of 67 bytes for the name "a.example". */
static const char hello[] =
	"\x16\x03\x01\x00\x41\x01\x00\x00\x3d\x03\x03"
	"RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR"
	"\x00\x00\x02\x13\x01\x01\x00\x00\x12"
	"\x00\x00\x00\x0e\x00\x0c\x00\x00\x09" "a.example";

static void guest_sends_bytes(struct peers *p, uint32_t id, const void *data, size_t size)
{
	guest_put(p, .type = WIRE_NET_DATA, .id = id, .data = data, .size = size);
}

static void test_slow_hellos(void)
{
	enum { COUNT = 60 };
	struct peers *p = relay_starts(&usual, true);
	int server[COUNT + 1], cut = 0, told = 0;
	char got[sizeof(hello) - 1];

	for (uint32_t i = 0; i < COUNT; i++) {
		server[i] = opens(p, i + 1, "a.example", 443, true);
		guest_sends_bytes(p, i + 1, hello, 1 + i);
	}
	server[COUNT] = opens(p, COUNT + 1, "a.example", 443, true);
	guest_sends_bytes(p, COUNT + 1, hello, sizeof(hello) - 1);
	guest_sends(p, COUNT + 1, "on");
	relay_wait(server[COUNT], "no hello came");
	recv(server[COUNT], got, sizeof(got), MSG_WAITALL);
	ok(!memcmp(got, hello, sizeof(got)) && server_reads(server[COUNT], "on"),
	   "beside 60 halves a whole hello passes");
	relay_passes(p, 4900);
	guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_NONE, 999999);
	/* another byte of each does not make its time longer */
	for (uint32_t i = 0; i < COUNT; i++)
		guest_sends_bytes(p, i + 1, hello + 1 + i, 1);
	ok(relay_barrier(p), "no half is cut before its 5 s");
	relay_passes(p, 101);
	guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_NONE, 999999);
	for (uint32_t i = 0; i < COUNT; i++) {
		const struct net_frame *f = guest_get(p);

		cut += f->type == WIRE_NET_RESET && f->arg == NET_RESET_REFUSED;
		told += server_hears(p).told == NET_TOLD_SNI;
	}
	is_int(cut, COUNT, "60 halves are cut after it");
	is_int(told, COUNT, "and told");
	for (uint32_t i = 0; i <= COUNT; i++)
		close(server[i]);
	relay_ends(p);
}

static void test_first_bytes(void)
{
	static const uint8_t records[] = { 22, 3, 1, 0, 1, 1 };
	struct peers *p = relay_starts(&usual, true);
	int server = opens(p, 1, "a.example", 443, true);
	struct relay_said s;
	uint32_t sent = 0;

	guest_sends(p, 1, "G");
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_REFUSED, 1),
	   "plain HTTP on 443 is cut at its first byte");
	s = server_hears(p);
	ok(s.told == NET_TOLD_SNI && strstr(s.text, "no TLS server name"), "and told");
	is_int(server_end(server), 0, "and the server gets no byte");
	close(server);
	server = opens(p, 2, "b.example", 5432, true);
	guest_sends_bytes(p, 2, hello, sizeof(hello) - 1);
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_REFUSED, 2),
	   "TLS with another name is cut on 5432, too");
	server_hears(p);
	close(server);
	server = opens(p, 3, "b.example", 5432, true);
	guest_sends(p, 3, "SELECT");
	ok(server_reads(server, "SELECT"), "and what is no TLS is not");
	close(server);
	guest_gets(p, WIRE_NET_END, 0, 3);
	server = opens(p, 4, "a.example", 443, true);
	/* a record for each byte, a frame for each byte */
	for (; sent < (16 << 10) - 1; sent++)
		guest_sends_bytes(p, 4, sent % 6 < 5 || sent < 6 ? &records[sent % 6] :
				  (const uint8_t *)"\0", 1);
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_REFUSED, 4),
	   "a hello in records of one byte is cut when it is too long, or wrong");
	close(server);
	relay_ends(p);
}

/* Takes the frames that are there. Return: the bytes that WINDOW has told. */
static uint32_t guest_drains(struct peers *p)
{
	uint32_t told = 0, query = 1000000 + p->query++;
	const struct net_frame *f;

	guest_put(p, .type = WIRE_NET_RESOLVE, .id = query, .name = "not a name");
	while ((f = guest_get(p))->type == WIRE_NET_WINDOW)
		told += f->window;
	return f->type == WIRE_NET_ANSWER && f->id == query ? told : 0;
}

static void test_single_bytes(void)
{
	enum { BATCH = 4000, COUNT = 1000000 };
	static uint8_t frames[BATCH * 13], got[BATCH];
	struct wire_writer w = { frames, sizeof(frames), 0 };
	struct net_frame f = { .type = WIRE_NET_DATA, .id = 1, .size = 1,
			       .data = (const uint8_t *)"x" };
	struct peers *p = relay_starts(&usual, true);
	int server = opens(p, 1, "a.example", 80, false);
	size_t received = 0, told = 0, before = heap();
	struct relay_said s;

	for (int i = 0; i < BATCH; i++)
		wire_net_put(&w, &f);
	is_int((long long)w.used, (long long)sizeof(frames), "frames of one byte");
	for (size_t sent = 0; sent < COUNT; sent += BATCH) {
		guest_bytes(p, frames, sizeof(frames));
		for (size_t n = 0; n < BATCH;) {
			relay_wait(server, "no bytes came");
			n += (size_t)recv(server, got, BATCH - n, 0);
			received += n == BATCH ? n : 0;
		}
		told += guest_drains(p);
	}
	is_int((long long)received, COUNT, "a million of them reach the server");
	ok(told > COUNT - (128 << 10) && told <= COUNT, "its windows tell so");
	ok(heap() < before + (1 << 20), "and nothing piles up");
	guest_put(p, .type = WIRE_NET_RESET, .id = 1, .arg = NET_RESET_PEER);
	s = server_hears(p);
	is_int((long long)s.sent, COUNT, "all are counted");
	close(server);
	relay_ends(p);
}

int main(void)
{
	test_at_once();
	test_in_turn();
	test_unread();
	test_slow_hellos();
	test_first_bytes();
	test_single_bytes();
	return done_testing();
}
