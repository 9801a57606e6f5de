/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A relay that was taken over, against the connections of a machine's helper: the input is
 * what comes on the second port. Two programs are connected, in a network namespace of the
 * fuzzer's own. What must hold: a frame is taken or breaks the protocol, no window and no
 * bound is ever exceeded, and what is sent to the host are frames.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/net/net_conns.h"
#include "layout/base/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WINDOW WIRE_NET_WINDOW_MIN
#define PROGRAMS 2
#define MOST 4

static struct net_lookup_row table[NET_LOOKUP_ROWS];
static struct net_port port;
static int listener = -1, epoll;

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Connections to ports of this host would be real ones. */
static void begin(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	check(!unshare(CLONE_NEWNET) || !unshare(CLONE_NEWUSER | CLONE_NEWNET));
	listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check(!ioctl(listener, SIOCSIFFLAGS, &lo));
	check(!bind(listener, (struct sockaddr *)&at, sizeof(at)) && !listen(listener, 8));
	epoll = epoll_create1(EPOLL_CLOEXEC);
	table[NET_LOOKUP_NAMES].range[0].low = 1; /* any address is an OPEN */
}

static int connect_one(struct net_conns *cs)
{
	struct sockaddr_in6 at;
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	check(!getsockname(listener, (struct sockaddr *)&at, &size));
	connect(fd, (struct sockaddr *)&at, size);
	check(send(fd, "program", 7, MSG_NOSIGNAL) == 7);
	check(!net_conns_accepted(cs, accept4(listener, NULL, NULL,
					      SOCK_CLOEXEC | SOCK_NONBLOCK)));
	return fd;
}

static void check_conns(struct net_conns *cs)
{
	unsigned count = 0;

	for (unsigned i = 0; i < NET_CONNS_BUCKETS; i++)
		list_for_each(at, tmp, &cs->bucket[i]) {
			const struct net_conn *c = list_entry(at, struct net_conn, node);

			check(c->to.len <= WINDOW && c->wire.sent <= WINDOW &&
			      c->wire.heard <= WINDOW && c->wire.taken <= c->wire.heard);
			count++;
		}
	check(count == cs->count && count <= MOST);
}

/* Reads the frames for the host away. */
static void check_out(void)
{
	while (port.out_at < port.out_end) {
		const uint8_t *at = port.out + port.out_at;
		struct net_frame f;
		struct wire_header h;

		check(!wire_net_header_get(at, WIRE_NET_GUEST, &h));
		check(!wire_net_get(&h, at + WIRE_HEADER_SIZE, &f));
		port.out_at += WIRE_HEADER_SIZE + h.length;
	}
	check(port.out_at == port.out_end);
	port.out_at = port.out_end = 0;
}

static void turn(struct net_conns *cs)
{
	struct epoll_event e[8];
	int n = epoll_wait(epoll, e, ARRAY_SIZE(e), 0);

	for (int i = 0; i < n; i++)
		check(!net_conns_event(cs, e[i].data.ptr, e[i].events));
	check(!net_conns_move(cs));
	check_conns(cs);
	check_out();
	net_conns_reap(cs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_names names = { 0 };
	static struct net_conns cs;
	struct net_frame f;
	int program[PROGRAMS];

	if (listener < 0)
		begin();
	port.in_at = 0;
	port.in_end = MIN(size, sizeof(port.in));
	memcpy(port.in, data, port.in_end);
	cs = (struct net_conns){ .port = &port, .names = &names, .table = table,
				 .epoll = epoll, .window = WINDOW, .most = MOST };
	net_conns_open(&cs);
	for (int i = 0; i < PROGRAMS; i++)
		program[i] = connect_one(&cs);
	turn(&cs);
	while (net_port_next(&port, &f) > 0) {
		if (f.type == WIRE_NET_CONNECT || f.type >= WIRE_NET_OPENED)
			if (net_conns_frame(&cs, &f) < 0)
				break;
		turn(&cs);
	}
	net_conns_reset(&cs);
	turn(&cs);
	check(!cs.count);
	for (int i = 0; i < PROGRAMS; i++)
		close(program[i]);
	return 0;
}
