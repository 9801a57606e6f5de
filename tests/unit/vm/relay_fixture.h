/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A relay on a thread, and all its peers by hand: the guest at the machine's port, the
 * server at the account, the door, and servers at the ends of sockets. Nothing sleeps: the
 * relay's clock is the test's (clock_gettime is wrapped), and relay_barrier() says when all
 * frames before it were handled.
 */
#ifndef TESTS_UNIT_RELAY_FIXTURE_H
#define TESTS_UNIT_RELAY_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "tests/unit/tap.h"
#include "vm/net/relay.h"
#include "vm/net/relay_wire.h"
#include "vm/os/fdpass.h"

#define WAIT_MS 20000 /* a bound, not a wait */

static atomic_ullong relay_ahead_ns;

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int r = __real_clock_gettime(clock, t);
	unsigned long long ns = (unsigned long long)t->tv_nsec + relay_ahead_ns;

	t->tv_sec += (time_t)(ns / 1000000000u);
	t->tv_nsec = (long)(ns % 1000000000u);
	return r;
}

struct peers {
	pthread_t thread;
	int theirs[2]; /* of the relay: account, port */
	int account, guest, door; /* -1: closed */
	int status;    /* relay_end() */
	uint32_t query; /* of the barriers */
	uint8_t bytes[256 << 10];
	size_t used;
	struct net_frame frame; /* the last one; its data is in `data` */
	uint8_t data[WIRE_NET_DATA_MAX];
};

static void die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

static void relay_pair(int type, int ret[2])
{
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ret) < 0)
		die("socketpair");
}

static void relay_wait(int fd, const char *what)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, WAIT_MS) <= 0)
		die(what);
}

/* --- the guest ---------------------------------------------------------------------- */

static void guest_bytes(struct peers *p, const void *bytes, size_t size)
{
	if (send(p->guest, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("the relay does not read its port");
}

static void guest_puts(struct peers *p, struct net_frame f)
{
	static uint8_t bytes[WIRE_HEADER_SIZE + WIRE_NET_PAYLOAD_MAX];
	struct wire_writer w = { bytes, sizeof(bytes), 0 };

	wire_net_put(&w, &f);
	guest_bytes(p, bytes, w.used);
}

#define guest_put(p, ...) guest_puts(p, (struct net_frame){ __VA_ARGS__ })

/* The next frame for the guest. */
static const struct net_frame *guest_get(struct peers *p)
{
	struct wire_header h = { 0 };
	size_t size = 0;
	ssize_t n;

	for (;;) {
		if (p->used >= WIRE_HEADER_SIZE) {
			if (wire_net_header_get(p->bytes, WIRE_NET_HOST, &h) < 0)
				die("the relay broke the protocol");
			size = WIRE_HEADER_SIZE + h.length;
		}
		if (size && p->used >= size)
			break;
		relay_wait(p->guest, "no frame came");
		n = recv(p->guest, p->bytes + p->used, sizeof(p->bytes) - p->used, 0);
		if (n <= 0)
			die("the relay has closed the port");
		p->used += (size_t)n;
	}
	if (wire_net_get(&h, p->bytes + WIRE_HEADER_SIZE, &p->frame) < 0)
		die("the relay broke the protocol");
	if (p->frame.size)
		memcpy(p->data, p->frame.data, p->frame.size);
	p->used -= size;
	memmove(p->bytes, p->bytes + size, p->used);
	return &p->frame;
}

/* The next frame must be of this type, arg and id. */
static bool guest_gets(struct peers *p, enum wire_net_type type, unsigned arg, uint32_t id)
{
	const struct net_frame *f = guest_get(p);

	if (f->type == type && f->arg == arg && f->id == id)
		return true;
	printf("# got %s, arg %u, id %x\n", wire_net_type_name(f->type), f->arg, f->id);
	return false;
}

static bool guest_gets_data(struct peers *p, uint32_t id, const char *text)
{
	return guest_gets(p, WIRE_NET_DATA, 0, id) && p->frame.size == strlen(text) &&
	       !memcmp(p->data, text, p->frame.size);
}

/* The relay has handled all frames before, and has sent no other frame meanwhile. */
static bool relay_barrier(struct peers *p)
{
	uint32_t query = 1000000 + p->query++;

	guest_put(p, .type = WIRE_NET_RESOLVE, .id = query, .name = "not a name");
	return guest_gets(p, WIRE_NET_ANSWER, NET_ANSWER_NONE, query);
}

/* Lets time pass: the relay looks at its timers when it is woken. */
static void relay_passes(struct peers *p, unsigned ms)
{
	relay_ahead_ns += ms * 1000000ull;
	guest_put(p, .type = WIRE_NET_RESOLVE, .id = 999999, .name = "not a name");
}

/* --- the server --------------------------------------------------------------------- */

static void order_with(struct peers *p, struct relay_order o, int fd)
{
	o.version = RELAY_VERSION;
	if (fdpass_send(p->account, &o, sizeof(o), &fd, fd >= 0, 0) < 0)
		die("the relay has closed its account");
	if (fd >= 0)
		close(fd);
}

#define order(p, fd, ...) order_with(p, (struct relay_order){ __VA_ARGS__ }, fd)

/* The next word that is no TOTAL. */
static struct relay_said server_hears(struct peers *p)
{
	struct relay_said s = { 0 };
	char bytes[sizeof(s) + 1];
	ssize_t n;

	do {
		relay_wait(p->account, "the relay says nothing");
		n = recv(p->account, bytes, sizeof(bytes), 0);
		if (n == 0)
			return (struct relay_said){ 0 };
		if (relay_said_check(bytes, (size_t)n, 0, &s, NULL) < 0)
			die("a wrong word of the relay");
	} while (s.op == RELAY_TOTAL);
	return s;
}

static void new_door(struct peers *p)
{
	int pair[2];

	if (p->door >= 0)
		close(p->door);
	relay_pair(SOCK_SEQPACKET, pair);
	p->door = pair[0];
	order(p, pair[1], .op = RELAY_DOOR);
}

/* --- the door ----------------------------------------------------------------------- */

static struct door_question door_hears(struct peers *p)
{
	struct door_question q = { 0 };
	ssize_t n;

	relay_wait(p->door, "the relay asks nothing");
	n = recv(p->door, &q, sizeof(q), 0);
	if (door_question_check(&q, (size_t)n, 0, &q, NULL) < 0)
		die("a wrong question");
	return q;
}

static void answer_with(struct peers *p, const struct door_question *q,
			struct door_answer a, int fd)
{
	a.version = DOOR_VERSION;
	a.op = DOOR_ANSWER;
	a.asked = q->op;
	a.id = q->id;
	if (fdpass_send(p->door, &a, sizeof(a), &fd, fd >= 0, 0) < 0)
		die("the relay has closed its door");
	if (fd >= 0)
		close(fd);
}

#define answer(p, q, fd, ...) answer_with(p, q, (struct door_answer){ __VA_ARGS__ }, fd)

/* --- a stream ----------------------------------------------------------------------- */

static const struct net_address some_address = {
	{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7 }
};

/* The guest opens one to that name and port, which the door connects. Return: the
 * server's end. */
static int opens(struct peers *p, uint32_t id, const char *name, uint32_t port, bool looks)
{
	struct net_frame f = { .type = WIRE_NET_OPEN, .id = id, .port = port };
	struct door_question q;
	int pair[2], small = 4096;

	relay_pair(SOCK_STREAM, pair);
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	snprintf(f.name, sizeof(f.name), "%s", name);
	guest_puts(p, f);
	q = door_hears(p);
	if (q.op != DOOR_CONNECT || q.id != id || q.port != port || strcmp(q.name, name))
		die("another question than CONNECT");
	answer(p, &q, pair[1], .told = NET_TOLD_OK, .compares_name = looks,
	       .address = some_address);
	if (!guest_gets(p, WIRE_NET_OPENED, 0, id))
		die("the stream was not opened");
	return pair[0];
}

static bool server_reads(int fd, const char *text)
{
	char bytes[4096];
	size_t want = strlen(text), got = 0;

	while (got < want) {
		ssize_t n;

		relay_wait(fd, "the server gets nothing");
		n = recv(fd, bytes + got, want - got, 0);
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return !memcmp(bytes, text, want);
}

/* Its end: 0, or a negative errno. */
static int server_end(int fd)
{
	char c;
	ssize_t n;

	relay_wait(fd, "the server sees no end");
	n = recv(fd, &c, 1, 0);
	return n < 0 ? -errno : (int)n;
}

#define guest_sends(p, stream, text) \
	guest_put(p, .type = WIRE_NET_DATA, .id = (stream), \
		  .data = (const uint8_t *)(text), .size = strlen(text))

/* --- start and end ------------------------------------------------------------------ */

static void *relay_thread(void *arg)
{
	struct peers *p = arg;

	p->status = relay_main(p->theirs[0], p->theirs[1]);
	return NULL;
}

static const struct relay_order usual = {
	.op = RELAY_START, .connections = 64, .rate = 1000, .bytes = 1 << 30,
};

static struct peers *relay_starts(const struct relay_order *limits, bool with_door)
{
	struct peers *p = calloc(1, sizeof(*p));
	int account[2], port[2];

	if (!p)
		die("no memory");
	signal(SIGPIPE, SIG_IGN);
	relay_pair(SOCK_SEQPACKET, account);
	relay_pair(SOCK_STREAM, port);
	p->account = account[0];
	p->guest = port[0];
	p->door = -1;
	p->theirs[0] = account[1];
	p->theirs[1] = port[1];
	if (pthread_create(&p->thread, NULL, relay_thread, p))
		die("no thread");
	order_with(p, *limits, -1);
	if (server_hears(p).op != RELAY_READY || !guest_gets(p, WIRE_NET_START, 0, 0))
		die("the relay does not start");
	if (with_door)
		new_door(p);
	return p;
}

/* Closes what is open. Return: the relay's exit status. */
static int relay_ends(struct peers *p)
{
	int status;

	close(p->account);
	if (p->guest >= 0)
		close(p->guest);
	if (p->door >= 0)
		close(p->door);
	pthread_join(p->thread, NULL);
	status = p->status;
	free(p);
	return status;
}

#endif
