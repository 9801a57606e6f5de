/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network's helper against a host written by hand, in a network namespace of the
 * test's own: 198.18.0.0/15 is local there, and the listener has every address of the
 * test's port, as the sk_lookup program does it in a machine.
 */
#include "guest/net/net_serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest/net/net_dns.h"
#include "guest/net/net_names.h"
#include "guest/net/net_route.h"
#include "guest/wire/wire_net.h"
#include "tests/unit/tap.h"

#define PORT 443
#define WINDOW (128u << 10)
#define WAIT_MS 20000 /* for what comes at once unless something is wrong */

static struct net_lookup_row *table;
static int host, dns_client, helper_dns_port;
static pid_t helper;

/* --- a helper ---------------------------------------------------------------------- */

static void die(const char *what)
{
	ok(false, "%s: %s", what, strerror(errno));
	exit(done_testing());
}

static void make_namespace(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct wire_route all = { .first = { [10] = 0xff, 0xff, 10 }, .bits = 104 };
	struct wire_route six = { .first = { 0x20, 1, 0xd, 0xb8 }, .bits = 32, .ip6 = true };
	int fd;

	/* without rights it is root in a namespace of users */
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		die("a network namespace");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
		die("lo");
	close(fd);
	is_int(net_route_heat(), 0, "lo gets 198.18.0.1/15 and loses it");
	is_int(net_route_own_address(), 0, "lo gets 198.18.0.1/15");
	is_int(net_route_own_address(), 0, "twice is as good");
	is_int(net_route_local(&all), 0, "10.0.0.0/8 is routed to it");
	is_int(net_route_local(&all), 0, "twice is as good");
	is_int(net_route_local(&six), 0, "and 2001:db8::/32");
}

static int make_listener(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), no = 0;
	int small = 16 << 10; /* a machine's are small as well */

	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 128))
		die("a listener");
	return fd;
}

static int make_dns(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) ||
	    getsockname(fd, (struct sockaddr *)&at, &size))
		die("a resolver's socket");
	helper_dns_port = ntohs(at.sin_port);
	dns_client = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (dns_client < 0 || connect(dns_client, (struct sockaddr *)&at, size))
		die("a program's socket");
	return fd;
}

static void begin(void)
{
	struct net_serve_fds fds = { .listener = make_listener(), .dns = make_dns() };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ||
	    fcntl(pair[1], F_SETFL, O_NONBLOCK))
		die("a port");
	memset(table, 0, NET_LOOKUP_ROWS * sizeof(*table));
	host = pair[0];
	fds.port = pair[1];
	fds.epoll = epoll_create1(EPOLL_CLOEXEC);
	fds.table = table;
	helper = fork();
	if (helper == 0) {
		close(host);
		_exit(-net_serve(&fds) & 0xff);
	}
	close(fds.port);
	close(fds.listener);
	close(fds.dns);
	close(fds.epoll);
}

/* Return: what net_serve() returned; 0: it still served. */
static int finish(void)
{
	int status = 0;

	if (waitpid(helper, &status, WNOHANG) == 0) {
		kill(helper, SIGKILL);
		waitpid(helper, NULL, 0);
		status = 0;
	}
	close(host);
	close(dns_client);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

/* The helper ends by itself. */
static int ending(void)
{
	int status;

	alarm(WAIT_MS / 1000);
	waitpid(helper, &status, 0);
	alarm(0);
	close(host);
	close(dns_client);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

/* --- the host -------------------------------------------------------------------------- */

/* Return: whether the helper takes it. */
static bool try_put(const struct net_frame *f)
{
	static uint8_t bytes[WIRE_HEADER_SIZE + WIRE_NET_PAYLOAD_MAX];
	struct wire_writer w = { bytes, sizeof(bytes), 0 };

	wire_net_put(&w, f);
	return send(host, bytes, w.used, MSG_NOSIGNAL) == (ssize_t)w.used;
}

static void put(const struct net_frame *f)
{
	if (!try_put(f))
		ok(false, "the host can write");
}

static void start(uint32_t streams)
{
	put(&(struct net_frame){ .type = WIRE_NET_START, .window = WINDOW,
				 .streams = streams, .names = 4 });
}

static void say(uint8_t type, uint8_t arg, uint32_t id)
{
	put(&(struct net_frame){ .type = type, .arg = arg, .id = id });
}

static void allow(uint32_t query, uint16_t low, uint16_t high)
{
	put(&(struct net_frame){ .type = WIRE_NET_ANSWER, .id = query, .range_count = 1,
				 .range = { { low, high } } });
}

static bool comes(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

/* The next frame; type 0: none came. Valid until the next call. */
static struct net_frame next(void)
{
	static uint8_t bytes[WIRE_HEADER_SIZE + WIRE_NET_PAYLOAD_MAX];
	struct net_frame f = { 0 };
	struct wire_header h;

	if (!comes(host, WAIT_MS) ||
	    recv(host, bytes, WIRE_HEADER_SIZE, MSG_WAITALL) != WIRE_HEADER_SIZE ||
	    wire_net_header_get(bytes, WIRE_NET_GUEST, &h) ||
	    (h.length && recv(host, bytes + WIRE_HEADER_SIZE, h.length, MSG_WAITALL) !=
				 (ssize_t)h.length) ||
	    wire_net_get(&h, bytes + WIRE_HEADER_SIZE, &f))
		f.type = 0;
	return f;
}

/* --- a program --------------------------------------------------------------------------- */

static void ask(const char *name, unsigned type)
{
	uint8_t q[NET_DNS_QUERY_MAX] = { 0x12, 0x34, 1, 0, 0, 1 };
	size_t at = 12;

	while (*name) {
		size_t label = strcspn(name, ".");

		q[at++] = (uint8_t)label;
		memcpy(q + at, name, label);
		at += label;
		name += label + (name[label] == '.');
	}
	q[at + 2] = (uint8_t)type;
	q[at + 4] = 1;
	send(dns_client, q, at + 5, 0);
}

/* The code of the answer, or -1; *ret: its address, or 0. */
static int answered(uint32_t *ret)
{
	uint8_t a[NET_DNS_ANSWER_MAX];
	ssize_t n = comes(dns_client, WAIT_MS) ? recv(dns_client, a, sizeof(a), 0) : -1;

	*ret = n > 16 && a[7] ? (uint32_t)a[n - 4] << 24 | (uint32_t)a[n - 3] << 16 |
					(uint32_t)a[n - 2] << 8 | a[n - 1] : 0;
	return n < 12 ? -1 : a[3] & 15;
}

static int connect_to(const char *text, uint16_t port)
{
	struct sockaddr_in6 ip6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in ip4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	bool six = inet_pton(AF_INET6, text, &ip6.sin6_addr) == 1;
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, text, &ip4.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ 16 << 10 }, sizeof(int));
	if (connect(fd, six ? (struct sockaddr *)&ip6 : (struct sockaddr *)&ip4,
		    six ? sizeof(ip6) : sizeof(ip4))) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* Return: bytes, 0: the end, or a negative errno. */
static ssize_t get(int fd, char *data, size_t size)
{
	ssize_t n = comes(fd, WAIT_MS) ? recv(fd, data, size, 0) : -1;

	return n < 0 ? -errno : n;
}

static bool is_reset(int fd)
{
	char c;
	bool is = fd < 0 ? fd == -ECONNREFUSED : get(fd, &c, 1) == -ECONNRESET;

	if (fd >= 0)
		close(fd);
	return is;
}

/* Resolves a name to the first address. */
static void resolve(const char *name)
{
	uint32_t address;

	ask(name, 1);
	allow(next().id, PORT, PORT);
	is_int(answered(&address), 0, "%s has an address", name);
	is_int(address, NET_NAMES_FIRST, "the first one");
}

/* A stream to the first name. */
static int open_stream(uint32_t *ret)
{
	int fd = connect_to("198.18.1.0", PORT);
	struct net_frame f = next();

	ok(fd >= 0 && f.type == WIRE_NET_OPEN && f.port == PORT, "a connection is an OPEN");
	say(WIRE_NET_OPENED, 0, f.id);
	*ret = f.id;
	return fd;
}

/* --- tests --------------------------------------------------------------------------------- */

static long spent_us(void)
{
	char path[64], text[512] = "";
	unsigned long user = 0, system = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)helper);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f) ||
	    sscanf(strrchr(text, ')') + 2,
		   "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
		ok(false, "the helper's time is known");
	if (f)
		fclose(f);
	return (long)(user + system) * 10000;
}

static void test_before_start(void)
{
	uint32_t address;

	begin();
	ask("a.example", 1);
	is_int(answered(&address), 3, "before START each name is NXDOMAIN");
	ok(is_reset(connect_to("198.18.1.0", PORT)), "and each connection is reset");
	ok(!comes(host, 0), "of which the host hears nothing");
	shutdown(host, SHUT_RDWR);
	ask("a.example", 1);
	is_int(answered(&address), 3, "so it is when the host's end has gone");
	poll(NULL, 0, 300); /* what it spends in a time is what is asked here */
	ok(spent_us() < 100000, "which costs no processor");
	is_int(finish(), 0, "and does not end the helper");
}

static void test_names(void)
{
	struct net_frame f;
	uint32_t address;

	begin();
	start(4);
	ask("A.example", 1);
	ask("a.Example", 28);
	f = next();
	ok(f.type == WIRE_NET_RESOLVE && !strcmp(f.name, "a.example"), "a query is a RESOLVE");
	ask("0.1.18.198.in-addr.arpa", 12); /* the helper answers it after the other two */
	is_int(answered(&address), 3, "no address has a name yet");
	allow(f.id, 80, 443);
	is_int(answered(&address), 0, "the host's answer is the program's");
	is_int(address, NET_NAMES_FIRST, "with an address of 198.18.1.0 and up");
	is_int(answered(&address), 0, "a query for IPv6 waits for the same answer");
	ok(!address, "which has no address of that kind");
	ok(table[0].range[0].low == 80 && table[0].range[0].high == 443 &&
	   !table[0].range[1].low, "the kernel gets the ports of the name");
	ask("b.example", 1);
	say(WIRE_NET_ANSWER, NET_ANSWER_NONE, next().id);
	is_int(answered(&address), 3, "a name that no rule has is NXDOMAIN");
	ask("b.example", 1);
	say(WIRE_NET_ANSWER, NET_ANSWER_AGAIN, next().id);
	is_int(answered(&address), 2, "one that the host cannot look up now is SERVFAIL");
	ask("0.1.18.198.in-addr.arpa", 12);
	is_int(answered(&address), 0, "an address has the name back");
	ask("9.1.18.198.in-addr.arpa", 12);
	is_int(answered(&address), 3, "but no other");
	ask("a.example", 1);
	say(WIRE_NET_ANSWER, NET_ANSWER_NONE, next().id);
	is_int(answered(&address), 3, "a name whose rule has gone is none");
	is_int(table[0].range[0].low, 0, "and the kernel refuses its ports");
	say(WIRE_NET_ANSWER, NET_ANSWER_NONE, 1);
	ask("c.example", 1);
	f = next();
	is_int(f.type, WIRE_NET_RESOLVE, "an answer that comes twice is dropped");
	say(WIRE_NET_ANSWER, NET_ANSWER_NONE, f.id + 1);
	is_int(ending(), -EPROTO, "one to no question breaks the protocol");
}

static void test_limits(void)
{
	uint32_t address;
	char name[32];
	int fd[3];

	begin();
	start(2);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%d.example", i);
		ask(name, 1);
		allow(next().id, 1, 65535);
		answered(&address);
	}
	ask("5.example", 1);
	allow(next().id, 1, 65535);
	is_int(answered(&address), 2, "more names than START allows are SERVFAIL");
	is_int(next().type, WIRE_NET_FULL, "which the host hears");
	for (int i = 0; i < 2; i++)
		fd[i] = connect_to("198.18.1.0", PORT);
	is_int(next().type, WIRE_NET_OPEN, "a first stream");
	is_int(next().type, WIRE_NET_OPEN, "and a second");
	ok(is_reset(connect_to("198.18.1.0", PORT)), "one more than START allows is reset");
	close(fd[0]);
	close(fd[1]);
	is_int(finish(), 0, "the helper serves on");
	begin();
	start(2);
	start(2);
	is_int(ending(), -EPROTO, "a second START breaks the protocol");
	begin();
	say(WIRE_NET_FINISH, 0, 0);
	is_int(ending(), -EPROTO, "and so does a frame before START");
}

static void test_stream(void)
{
	char data[64] = "";
	struct net_frame f;
	uint32_t id;
	int fd;

	begin();
	start(4);
	resolve("a.example");
	fd = connect_to("198.18.1.0", PORT);
	f = next();
	id = f.id;
	ok(f.type == WIRE_NET_OPEN && !strcmp(f.name, "a.example"), "OPEN has the name");
	send(fd, "early", 5, 0);
	ok(!comes(host, 100), "no byte goes before OPENED");
	say(WIRE_NET_OPENED, 0, id);
	f = next();
	ok(f.type == WIRE_NET_DATA && f.id == id && f.size == 5 &&
	   !memcmp(f.data, "early", 5), "then the program's bytes go");
	put(&(struct net_frame){ .type = WIRE_NET_DATA, .id = id,
				 .data = (const uint8_t *)"hello", .size = 5 });
	is_int(get(fd, data, sizeof(data)), 5, "the host's bytes come");
	is_str(data, "hello", "as they are");
	shutdown(fd, SHUT_WR);
	is_int(next().type, WIRE_NET_END, "the end of one direction goes alone");
	put(&(struct net_frame){ .type = WIRE_NET_DATA, .id = id,
				 .data = (const uint8_t *)"more", .size = 4 });
	is_int(get(fd, data, sizeof(data)), 4, "while the other one goes on");
	say(WIRE_NET_END, 0, id);
	is_int(get(fd, data, sizeof(data)), 0, "until the host ends it");
	close(fd);
	say(WIRE_NET_END, 0, id);
	fd = open_stream(&id);
	is_int(id, 2, "a frame for a stream that is gone is dropped");
	say(WIRE_NET_RESET, NET_RESET_FAILED, id);
	ok(is_reset(fd), "a RESET is the program's, too");
	fd = open_stream(&id);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
		   sizeof(struct linger));
	close(fd);
	f = next();
	ok(f.type == WIRE_NET_RESET && f.arg == NET_RESET_PEER, "and the program's the host's");
	say(WIRE_NET_END, 0, 99);
	is_int(ending(), -EPROTO, "a frame for a stream that never was breaks the protocol");
}

static void test_window(void)
{
	static char data[4u << 20];
	uint32_t id, got = 0, told = 0;
	struct net_frame f;
	int fd;

	begin();
	start(4);
	resolve("a.example");
	fd = open_stream(&id);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	send(fd, data, sizeof(data), 0);
	while (got < WINDOW && (f = next()).type == WIRE_NET_DATA)
		got += (uint32_t)f.size;
	is_int(got, WINDOW, "a window of the program's bytes goes");
	ok(!comes(host, 200), "and no byte more");
	put(&(struct net_frame){ .type = WIRE_NET_WINDOW, .id = id, .window = 1000 });
	f = next();
	ok(f.type == WIRE_NET_DATA && f.size == 1000, "until the host has taken some");
	/* the program does not read: what it does not take waits in the helper */
	for (uint32_t i = 0; i < WINDOW / WIRE_NET_DATA_MAX; i++)
		put(&(struct net_frame){ .type = WIRE_NET_DATA, .id = id,
					 .data = (const uint8_t *)data,
					 .size = WIRE_NET_DATA_MAX });
	for (got = 0; got < WINDOW;) {
		ssize_t n = get(fd, data, sizeof(data));

		if (n <= 0)
			break;
		got += (uint32_t)n;
	}
	is_int(got, WINDOW, "a window of the host's bytes comes");
	/* less than a quarter waits for more */
	while (told <= WINDOW - WINDOW / 4 && (f = next()).type == WIRE_NET_WINDOW)
		told += f.window;
	ok(told > WINDOW - WINDOW / 4 && told <= WINDOW, "and they are acknowledged");
	for (uint32_t i = 0; i < 8 * WINDOW / WIRE_NET_DATA_MAX; i++)
		if (!try_put(&(struct net_frame){ .type = WIRE_NET_DATA, .id = id,
						  .data = (const uint8_t *)data,
						  .size = WIRE_NET_DATA_MAX }))
			break; /* it has ended */
	is_int(ending(), -EPROTO, "more than a window breaks the protocol");
	close(fd);
}

static void test_addresses(void)
{
	struct net_frame f;
	uint32_t id;
	int fd;

	begin();
	start(4);
	ok(is_reset(connect_to("10.1.2.3", PORT)), "an address that NET has not is reset");
	table[NET_LOOKUP_NAMES].range[0].low = 1; /* as net_apply() does it */
	fd = connect_to("10.1.2.3", PORT);
	f = next();
	is_str(f.name, "10.1.2.3", "one that it has is an OPEN with that address");
	say(WIRE_NET_RESET, NET_RESET_REFUSED, f.id);
	ok(is_reset(fd), "which the host may refuse");
	fd = connect_to("2001:db8::7", PORT);
	f = next();
	is_str(f.name, "2001:db8::7", "IPv6 as well");
	close(fd);
	id = f.id;
	ok(is_reset(connect_to("198.18.1.0", PORT)), "an address without a name is reset");
	ok(is_reset(connect_to("127.0.0.1", PORT)), "and so is one of the machine's own");
	fd = connect_to("10.1.2.3", PORT);
	is_int(next().id, id + 1, "of which the host hears nothing");
	close(fd);
	is_int(finish(), 0, "the helper serves on");
}

static int listen_on(const char *text, uint16_t port)
{
	struct sockaddr_in6 ip6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in ip4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	bool six = inet_pton(AF_INET6, text, &ip6.sin6_addr) == 1;
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, text, &ip4.sin_addr);
	if (bind(fd, six ? (struct sockaddr *)&ip6 : (struct sockaddr *)&ip4,
		 six ? sizeof(ip6) : sizeof(ip4)) || listen(fd, 8))
		die("a program that listens");
	return fd;
}

static void connect_in(uint32_t number, uint16_t port)
{
	put(&(struct net_frame){ .type = WIRE_NET_CONNECT, .port = port,
				 .id = WIRE_NET_HOSTS | number });
}

static void test_ports(void)
{
	int four = listen_on("127.0.0.1", 8080), six = listen_on("::1", 8081), fd;
	struct net_frame f;
	char data[8] = "";

	begin();
	start(4);
	connect_in(1, 8080);
	f = next();
	ok(f.type == WIRE_NET_OPENED && f.id == (WIRE_NET_HOSTS | 1),
	   "the host connects to a program that listens on 127.0.0.1");
	fd = accept(four, NULL, NULL);
	put(&(struct net_frame){ .type = WIRE_NET_DATA, .id = f.id,
				 .data = (const uint8_t *)"GET", .size = 3 });
	is_int(get(fd, data, sizeof(data)), 3, "its bytes come");
	send(fd, "200", 3, 0);
	close(fd);
	f = next();
	ok(f.type == WIRE_NET_DATA && f.size == 3, "and the program's go");
	is_int(next().type, WIRE_NET_END, "to the end");
	connect_in(2, 8081);
	is_int(next().type, WIRE_NET_OPENED, "or on ::1");
	connect_in(3, 8082);
	f = next();
	ok(f.type == WIRE_NET_RESET && f.arg == NET_RESET_REFUSED, "and on no other");
	connect_in(3, 8080);
	is_int(ending(), -EPROTO, "a number that comes twice breaks the protocol");
	close(four);
	close(six);
}

static void test_finish(void)
{
	static char data[100000];
	struct net_frame f;
	uint32_t id, got = 0;
	int fd, idle;

	begin();
	start(4);
	resolve("a.example");
	idle = open_stream(&id);
	say(WIRE_NET_FINISH, 0, 0);
	is_int(next().type, WIRE_NET_FINISHED, "FINISH is answered though a program runs on");
	fd = open_stream(&id);
	send(fd, data, sizeof(data), 0);
	close(fd);
	say(WIRE_NET_FINISH, 0, 0);
	while ((f = next()).type == WIRE_NET_DATA)
		got += (uint32_t)f.size;
	is_int(got, sizeof(data), "all bytes that a program gave come before FINISHED");
	is_int(f.type, WIRE_NET_END, "with their end");
	is_int(next().type, WIRE_NET_FINISHED, "and then it comes");
	fd = connect_to("198.18.1.0", PORT);
	send(fd, "late", 4, 0);
	close(fd);
	say(WIRE_NET_FINISH, 0, 0);
	is_int(next().type, WIRE_NET_OPEN, "a stream that is not opened yet");
	is_int(next().type, WIRE_NET_FINISHED, "is waited for 2 s, no longer");
	close(idle);
	is_int(finish(), 0, "the helper serves on");
}

static void test_hang_up(void)
{
	uint32_t address, id;
	int fd;

	begin();
	start(4);
	resolve("a.example");
	fd = open_stream(&id);
	ask("b.example", 1);
	is_int(next().type, WIRE_NET_RESOLVE, "a query waits");
	shutdown(host, SHUT_RDWR);
	is_int(answered(&address), 3, "when the host closes the port it is NXDOMAIN");
	ok(is_reset(fd), "streams are reset");
	is_int(table[0].range[0].low, 0, "the kernel refuses each port");
	ask("a.example", 1);
	is_int(answered(&address), 3, "no name exists");
	ok(is_reset(connect_to("198.18.1.0", PORT)), "no connection is taken");
	poll(NULL, 0, 300); /* what it spends in a time is what is asked here */
	ok(spent_us() < 100000, "which costs no processor");
	is_int(finish(), 0, "and the helper lives");
}

static void test_kill(void)
{
	uint32_t id;
	int fd;

	begin();
	start(4);
	resolve("a.example");
	fd = open_stream(&id);
	kill(helper, SIGKILL);
	ok(is_reset(fd), "a helper that is killed resets its streams");
	finish();
}

static void test_many(void)
{
	enum { COUNT = 1000 };
	static int fd[COUNT];
	struct net_frame f;
	int opened = 0, right = 0;

	begin();
	put(&(struct net_frame){ .type = WIRE_NET_START, .window = WIRE_NET_WINDOW_MIN,
				 .streams = COUNT, .names = 4 });
	resolve("a.example");
	for (int i = 0; i < COUNT; i++) {
		fd[i] = connect_to("198.18.1.0", PORT);
		f = next();
		if (fd[i] < 0 || f.type != WIRE_NET_OPEN)
			continue;
		opened++;
		say(WIRE_NET_OPENED, 0, f.id);
		put(&(struct net_frame){ .type = WIRE_NET_DATA, .id = f.id,
					 .data = (const uint8_t *)&i, .size = sizeof(i) });
	}
	is_int(opened, COUNT, "a thousand streams are open at once");
	for (int i = 0, got; i < COUNT; i++) {
		right += get(fd[i], (char *)&got, sizeof(got)) == sizeof(got) && got == i;
		close(fd[i]);
	}
	is_int(right, COUNT, "and each has its own bytes");
	is_int(finish(), 0, "the helper serves on");
}

int main(void)
{
	const struct rlimit files = { 4096, 4096 };

	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_NOFILE, &files);
	table = mmap(NULL, NET_LOOKUP_ROWS * sizeof(*table), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	make_namespace();
	test_before_start();
	test_names();
	test_limits();
	test_stream();
	test_window();
	test_addresses();
	test_ports();
	test_finish();
	test_hang_up();
	test_kill();
	test_many();
	return done_testing();
}
