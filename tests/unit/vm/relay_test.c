/* SPDX-License-Identifier: Apache-2.0 */
/* A relay between a guest, a door and servers: names, streams, windows, ends, ports. */
#include "relay_fixture.h"

#include <sys/un.h>
#include <sys/wait.h>

static void test_names(void)
{
	struct peers *p = relay_starts(&usual, true);
	struct door_question q;

	guest_put(p, .type = WIRE_NET_RESOLVE, .id = 5, .name = "API.example.org");
	q = door_hears(p);
	ok(q.op == DOOR_RESOLVE && q.id == 5 && !strcmp(q.name, "api.example.org"),
	   "a name is asked of the door, in lower case");
	answer(p, &q, -1, .told = NET_TOLD_OK, .range_count = 2,
	       .range = { { 80, 80 }, { 443, 500 } });
	ok(guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_OK, 5) && p->frame.range_count == 2 &&
	   p->frame.range[1].high == 500, "the guest gets its ports");
	guest_put(p, .type = WIRE_NET_RESOLVE, .id = 6, .name = "no.example");
	q = door_hears(p);
	answer(p, &q, -1, .told = NET_TOLD_UNRESOLVED);
	ok(guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_NONE, 6), "or that there is none");
	guest_put(p, .type = WIRE_NET_RESOLVE, .id = 7, .name = "slow.example");
	q = door_hears(p);
	answer(p, &q, -1, .told = NET_TOLD_TIMEOUT, .again = 1);
	ok(guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_AGAIN, 7), "or to ask again");
	ok(relay_barrier(p), "what is no name is not asked");
	is_int(relay_ends(p), 0, "the relay ends with its server");
}

static void test_stream(void)
{
	struct peers *p = relay_starts(&usual, true);
	int server = opens(p, 1, "api.example.org", 80, false);
	struct relay_said s;

	guest_sends(p, 1, "hello");
	ok(server_reads(server, "hello"), "bytes of the guest reach the server");
	send(server, "world", 5, 0);
	ok(guest_gets_data(p, 1, "world"), "and back");
	guest_put(p, .type = WIRE_NET_END, .id = 1);
	is_int(server_end(server), 0, "the guest's end is the server's end of file");
	send(server, "more", 4, 0);
	ok(guest_gets_data(p, 1, "more"), "the other direction goes on");
	close(server);
	ok(guest_gets(p, WIRE_NET_END, 0, 1), "until the server ends it");
	s = server_hears(p);
	ok(s.op == RELAY_ENDED && s.stream == 1 && s.told == NET_TOLD_OK && s.sent == 5 &&
	   s.received == 9, "its bytes are told");
	guest_put(p, .type = WIRE_NET_WINDOW, .id = 1, .window = 5);
	ok(relay_barrier(p), "a frame for a stream that is gone is dropped");
	relay_ends(p);
}

static void test_resets(void)
{
	struct peers *p = relay_starts(&usual, true);
	int server = opens(p, 1, "api.example.org", 80, false);
	struct relay_said s;

	guest_put(p, .type = WIRE_NET_RESET, .id = 1, .arg = NET_RESET_PEER);
	is_int(server_end(server), 0, "a reset of the guest ends the socket");
	is_int((int)server_hears(p).told, NET_TOLD_OK, "which is no fault");
	close(server);
	server = opens(p, 2, "api.example.org", 80, false);
	guest_sends(p, 2, "unread");
	ok(relay_barrier(p), "a server closes with bytes that it has not read");
	close(server);
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_PEER, 2), "the guest gets a reset");
	s = server_hears(p);
	ok(s.told == NET_TOLD_RESET && s.sent == 6, "the server is told: reset");
	relay_ends(p);
}

static void test_refusals(void)
{
	static const struct {
		enum net_told told;
		enum net_reset arg;
	} rows[] = {
		{ NET_TOLD_DENIED, NET_RESET_REFUSED }, { NET_TOLD_PRIVATE, NET_RESET_REFUSED },
		{ NET_TOLD_OWN, NET_RESET_REFUSED }, { NET_TOLD_REFUSED, NET_RESET_FAILED },
		{ NET_TOLD_UNRESOLVED, NET_RESET_FAILED }, { NET_TOLD_TIMEOUT, NET_RESET_FAILED },
		{ NET_TOLD_UNREACHABLE, NET_RESET_FAILED }, { NET_TOLD_LIMIT, NET_RESET_LIMIT },
	};
	struct peers *p = relay_starts(&usual, true);
	struct door_question q;
	struct relay_said s;

	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		guest_put(p, .type = WIRE_NET_OPEN, .id = i + 1, .port = 443,
			  .name = "2001:db8::5");
		q = door_hears(p);
		answer(p, &q, -1, .told = rows[i].told);
		ok(guest_gets(p, WIRE_NET_RESET, rows[i].arg, i + 1),
		   "%s by the door resets the stream", net_told_names[rows[i].told]);
	}
	guest_put(p, .type = WIRE_NET_OPEN, .id = 50, .port = 443, .name = "a..b");
	ok(guest_gets(p, WIRE_NET_RESET, NET_RESET_REFUSED, 50),
	   "what is no name is refused without the door");
	s = server_hears(p);
	ok(s.stream == 50 && s.told == NET_TOLD_DENIED,
	   "and only that is told: the rest has the door's record");
	guest_put(p, .type = WIRE_NET_OPEN, .id = 51, .port = 80, .name = "slow.example");
	q = door_hears(p);
	guest_put(p, .type = WIRE_NET_RESET, .id = 51, .arg = NET_RESET_PEER);
	ok(relay_barrier(p), "a guest gives up before the door's answer");
	answer(p, &q, dup(STDOUT_FILENO), .told = NET_TOLD_OK, .address = some_address);
	close(opens(p, 52, "api.example.org", 80, false));
	ok(guest_gets(p, WIRE_NET_END, 0, 52), "a late answer changes nothing");
	relay_ends(p);
}

static void test_window_of_guest(void)
{
	static uint8_t block[WIRE_NET_DATA_MAX];
	struct peers *p = relay_starts(&usual, true);
	uint32_t window = p->frame.window, told = 0;
	int server = opens(p, 1, "api.example.org", 80, false);
	size_t got = 0;

	is_int(window, 128 << 10, "the window is 128 KiB");
	for (uint32_t sent = 0; sent < window; sent += sizeof(block))
		guest_put(p, .type = WIRE_NET_DATA, .id = 1, .data = block,
			  .size = sizeof(block));
	while (got < window) {
		relay_wait(server, "no bytes came");
		got += (size_t)recv(server, block, sizeof(block), 0);
	}
	/* what is less than a quarter may be told later */
	while (told <= window / 4 * 3 && guest_gets(p, WIRE_NET_WINDOW, 0, 1))
		told += p->frame.window;
	ok(told > window / 4 * 3 && told <= window, "what the server has read is told");
	relay_ends(p);
	close(server);
}

/* Reads DATA until that many bytes came. */
static void guest_reads(struct peers *p, uint32_t id, size_t size)
{
	for (size_t got = 0; got < size; got += p->frame.size)
		if (!guest_gets(p, WIRE_NET_DATA, 0, id))
			die("no DATA");
}

static void test_window_of_server(void)
{
	static uint8_t block[WIRE_NET_DATA_MAX];
	struct peers *p = relay_starts(&usual, true);
	uint32_t window = p->frame.window;
	int one = opens(p, 1, "api.example.org", 80, false);
	int two = opens(p, 2, "api.example.org", 80, false);
	size_t sent = 0;

	while (sent < window) {
		ssize_t n = send(one, block, MIN(sizeof(block), window - sent), 0);

		sent += n > 0 ? (size_t)n : 0;
	}
	guest_reads(p, 1, window);
	send(one, "x", 1, 0);
	send(two, "other", 5, 0);
	ok(guest_gets_data(p, 2, "other"),
	   "a stream without a window holds up no other one");
	ok(relay_barrier(p), "and no byte over its window comes");
	guest_put(p, .type = WIRE_NET_WINDOW, .id = 1, .window = window / 4);
	ok(guest_gets_data(p, 1, "x"), "until the guest has taken some");
	relay_ends(p);
	close(one);
	close(two);
}

static void test_finish(void)
{
	struct peers *p = relay_starts(&usual, true);
	int server = opens(p, 1, "api.example.org", 80, false);
	static uint8_t block[60000];
	struct relay_said s;
	size_t got = 0;

	for (int i = 0; i < 6; i++)
		guest_put(p, .type = WIRE_NET_DATA, .id = 1, .data = block, .size = 10000);
	guest_put(p, .type = WIRE_NET_END, .id = 1);
	order(p, -1, .op = RELAY_FINISH);
	ok(guest_gets(p, WIRE_NET_FINISH, 0, 0), "the guest is asked for the rest");
	guest_put(p, .type = WIRE_NET_FINISHED);
	ok(relay_barrier(p), "and has sent it");
	is_int(recv(p->account, &s, sizeof(s), MSG_DONTWAIT), -1,
	       "it is not finished while bytes wait for the server");
	while (got < sizeof(block)) {
		relay_wait(server, "no bytes came");
		got += (size_t)recv(server, block, sizeof(block), 0);
	}
	s = server_hears(p);
	ok(s.op == RELAY_ENDED && s.stream == 1 && s.sent == sizeof(block),
	   "a stream that is open then is told");
	s = server_hears(p);
	ok(s.op == RELAY_FINISHED && s.sent == sizeof(block), "and then the end");
	order(p, -1, .op = RELAY_FINISH);
	guest_gets(p, WIRE_NET_FINISH, 0, 0);
	relay_passes(p, 2001);
	is_int(server_hears(p).op, RELAY_FINISHED, "a guest has 2 s for it");
	guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_NONE, 999999);
	guest_put(p, .type = WIRE_NET_FINISHED);
	ok(relay_barrier(p), "and may be late");
	relay_ends(p);
	close(server);
}

static void test_ends(void)
{
	struct peers *p = relay_starts(&usual, true);
	int server = opens(p, 1, "api.example.org", 80, false);
	struct relay_said s;

	close(p->guest);
	p->guest = -1;
	s = server_hears(p);
	ok(s.op == RELAY_ENDED && s.stream == 1, "when the machine ends its streams are told");
	is_int(server_hears(p).op, 0, "and the relay ends by itself");
	is_int(server_end(server), 0, "and its sockets with it");
	is_int(relay_ends(p), 0, "with status 0");
	close(server);
}

/* --- ports -------------------------------------------------------------------------- */

static struct sockaddr_un place;

static int listener(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(place);

	/* a name that the kernel chooses */
	if (bind(fd, (struct sockaddr *)&(struct sockaddr_un){ .sun_family = AF_UNIX },
		 sizeof(sa_family_t)) < 0 ||
	    listen(fd, 10) < 0 || getsockname(fd, (struct sockaddr *)&place, &size) < 0)
		die("no listener");
	return fd;
}

static int client(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&place, sizeof(sa_family_t) + 6) < 0)
		die("no connection to a port");
	return fd;
}

/* Does a client of that user see its end at once? */
static bool is_refused(uid_t uid)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(setresuid(uid, uid, uid) < 0 ? 2 : server_end(client()) ? 1 : 0);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void test_ports(void)
{
	struct peers *p = relay_starts(&usual, false);
	uint32_t id = WIRE_NET_HOSTS | 1;
	struct relay_said s;
	int fd;

	order(p, listener(), .op = RELAY_PORT, .port = 8080);
	fd = client();
	ok(guest_gets(p, WIRE_NET_CONNECT, 0, id) && p->frame.port == 8080,
	   "a client of a port is a stream to the guest");
	send(fd, "GET", 3, 0);
	ok(relay_barrier(p), "whose bytes wait");
	guest_put(p, .type = WIRE_NET_OPENED, .id = id);
	ok(guest_gets_data(p, id, "GET"), "until a program takes it");
	guest_sends(p, id, "200");
	ok(server_reads(fd, "200"), "and it answers");
	guest_put(p, .type = WIRE_NET_END, .id = id);
	is_int(server_end(fd), 0, "and ends");
	close(fd);
	guest_gets(p, WIRE_NET_END, 0, id);
	s = server_hears(p);
	ok(s.port == 8080 && s.received == 3 && s.sent == 3, "it is told with its port");
	if (geteuid() == 0) {
		ok(is_refused(65534), "a client of another user is closed at once");
		ok(relay_barrier(p), "and the guest hears nothing of it");
	}
	order(p, -1, .op = RELAY_CLOSE, .port = 8080);
	ok(relay_barrier(p), "a port is closed");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	is_int(connect(fd, (struct sockaddr *)&place, sizeof(sa_family_t) + 6), -1,
	       "and refuses clients");
	close(fd);
	relay_ends(p);
}

static void test_port_without_listener(void)
{
	struct peers *p = relay_starts(&usual, false);
	uint32_t id = WIRE_NET_HOSTS | 1;
	int fd;

	order(p, listener(), .op = RELAY_PORT, .port = 8080);
	fd = client();
	ok(guest_gets(p, WIRE_NET_CONNECT, 0, id), "a client is there before the program");
	guest_put(p, .type = WIRE_NET_RESET, .id = id, .arg = NET_RESET_REFUSED);
	ok(relay_barrier(p), "and waits for it");
	relay_passes(p, 101);
	guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_NONE, 999999);
	ok(guest_gets(p, WIRE_NET_CONNECT, 0, ++id), "it is tried again");
	relay_passes(p, 3900);
	guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_NONE, 999999);
	guest_put(p, .type = WIRE_NET_RESET, .id = id, .arg = NET_RESET_REFUSED);
	is_int(server_end(fd), 0, "for 4 s");
	is_int((int)server_hears(p).told, NET_TOLD_REFUSED, "and told");
	close(fd);
	relay_ends(p);
}

int main(void)
{
	test_names();
	test_stream();
	test_resets();
	test_refusals();
	test_window_of_guest();
	test_window_of_server();
	test_finish();
	test_ends();
	test_ports();
	test_port_without_listener();
	return done_testing();
}
