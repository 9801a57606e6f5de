/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A relay whose guest sends hostile frames, one in each round of the loop. The second byte
 * of the input and those behind it are the door's: what it answers, and what the servers
 * do that it connects. Whatever comes, the relay's memory stays within its bounds, and it
 * ends when its port does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "vm/net/relay_int.h"
#include "vm/os/fdpass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONNECTIONS 8u
#define DOORS_BYTES 16u
#define ROUNDS_MORE 6

struct world {
	struct relay r;
	int server, guest, door; /* the other ends */
	struct loop_fd door_src;
	struct loop_call driver;
	const uint8_t *doors;
	unsigned doors_at;
	const uint8_t *data;
	size_t size;
	int rounds_more;
	int ends[64]; /* of servers */
	unsigned end_count;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void pair(int type, int *ours, int *theirs)
{
	int fds[2];

	check(socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	*ours = fds[0];
	*theirs = fds[1];
}

/* A server's socket: it has sent something, and has ended, or not. */
static int connected(struct world *w, uint8_t does)
{
	static const char text[5000];
	int ours, theirs;

	if (w->end_count == ARRAY_SIZE(w->ends))
		return -1;
	pair(SOCK_STREAM, &ours, &theirs);
	if (send(ours, text, does * 20u, MSG_NOSIGNAL) < 0) {
		/* 0 bytes, or what fits */
	}
	if (does & 1)
		shutdown(ours, SHUT_WR);
	if (does & 2)
		fd_close(&ours);
	else
		w->ends[w->end_count++] = ours;
	return theirs;
}

static void on_question(struct loop_fd *src, uint32_t events)
{
	struct world *w = src->arg;
	struct door_question q;
	struct door_answer a = { .version = DOOR_VERSION, .op = DOOR_ANSWER };
	uint8_t does = w->doors[w->doors_at++ % DOORS_BYTES];
	int fd = -1;

	(void)events;
	if (recv(w->door, &q, sizeof(q), 0) != (ssize_t)sizeof(q)) {
		loop_fd_del(src);
		return;
	}
	check(door_question_check(&q, sizeof(q), 0, &q, NULL) == 0);
	a.asked = q.op;
	a.id = q.id;
	a.told = does >= 128 ? does % NET_TOLD_MAX : NET_TOLD_OK;
	if (q.op == DOOR_RESOLVE && a.told == NET_TOLD_OK) {
		a.range_count = 1;
		a.range[0] = (struct net_range){ 80, 80 };
	}
	if (q.op == DOOR_CONNECT && a.told == NET_TOLD_OK) {
		a.compares_name = does >> 2 & 1;
		fd = connected(w, does);
	}
	fdpass_send(w->door, &a, sizeof(a), &fd, fd >= 0, 0);
	fd_close(&fd);
}

static size_t next_frame(const struct world *w)
{
	size_t length = w->size < WIRE_HEADER_SIZE ? w->size :
			(size_t)(w->data[0] | w->data[1] << 8) + WIRE_HEADER_SIZE;

	return MIN(length, w->size);
}

static void drive(struct loop_call *c)
{
	struct world *w = c->arg;
	size_t n = next_frame(w);
	char bytes[4096];

	check(w->r.out_size <= OUT_MAX && w->r.stream_count <= CONNECTIONS);
	if (n && send(w->guest, w->data, n, MSG_NOSIGNAL) != (ssize_t)n)
		n = w->size; /* the relay has ended */
	w->data += n;
	w->size -= n;
	/* the guest and the server read on */
	while (recv(w->guest, bytes, sizeof(bytes), 0) > 0)
		;
	while (recv(w->server, bytes, sizeof(bytes), 0) > 0)
		;
	if (!n && !w->rounds_more--)
		shutdown(w->guest, SHUT_WR);
	else if (w->rounds_more >= 0)
		loop_defer(w->r.loop, c);
}

static void on_bound(struct loop_timer *t)
{
	(void)t;
	abort();
}

static void run(struct world *w)
{
	struct loop_timer bound = { .fn = on_bound };
	struct relay_order start = {
		.version = RELAY_VERSION, .op = RELAY_START,
		.connections = CONNECTIONS, .rate = 10000, .bytes = 100000,
	};
	struct relay_order door = { .version = RELAY_VERSION, .op = RELAY_DOOR };
	int theirs;

	pair(SOCK_SEQPACKET, &w->door, &theirs);
	fdpass_send(w->server, &start, sizeof(start), NULL, 0, 0);
	fdpass_send(w->server, &door, sizeof(door), &theirs, 1, 0);
	close(theirs);
	check(loop_new(&w->r.loop) == 0 && account_open(&w->r) == 0 &&
	      port_open(&w->r) == 0);
	w->door_src = (struct loop_fd){ .fd = w->door, .events = EPOLLIN,
					.fn = on_question, .arg = w };
	loop_fd_add(w->r.loop, &w->door_src);
	w->driver = (struct loop_call){ .fn = drive, .arg = w };
	loop_defer(w->r.loop, &w->driver);
	loop_timer_set(w->r.loop, &bound, 10 * NS_PER_S);
	check(loop_run(w->r.loop) == 0 && w->r.ended);
	loop_timer_del(&bound);
}

static void finish(struct world *w)
{
	loop_call_del(&w->driver);
	loop_fd_del(&w->door_src);
	streams_close(&w->r);
	listen_close(&w->r);
	ask_close(&w->r);
	port_close(&w->r);
	account_close(&w->r);
	loop_free(w->r.loop);
	check(!w->r.stream_count && !w->r.look_ups);
	close(w->server);
	close(w->guest);
	close(w->door);
	for (unsigned i = 0; i < w->end_count; i++)
		close(w->ends[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;

	if (size < DOORS_BYTES || size > 3000)
		return 0;
	memset(&w, 0, sizeof(w));
	w.doors = data;
	w.data = data + DOORS_BYTES;
	w.size = size - DOORS_BYTES;
	w.rounds_more = ROUNDS_MORE;
	pair(SOCK_SEQPACKET, &w.server, &w.r.account);
	pair(SOCK_STREAM, &w.guest, &w.r.port);
	relay_init(&w.r);
	run(&w);
	finish(&w);
	return 0;
}
