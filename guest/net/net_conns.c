/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the bytes of connections. In order: a connection's life, bytes to the program,
 * bytes to the host, connections to programs that listen, frames. Each function that makes
 * a frame returns what net_port_put() does. One thread, no call waits.
 */
#include "net_conns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "net_helper.h"

/* A connection whose program is silent for so long has sent all that it had. */
#define QUIET_NS 50000000u

static const uint8_t ip4_prefix[12] = { [10] = 0xff, [11] = 0xff };

/* --- a connection's life ------------------------------------------------------- */

void net_conns_open(struct net_conns *cs)
{
	list_init(&cs->turns);
	list_init(&cs->closed);
	for (unsigned i = 0; i < NET_CONNS_BUCKETS; i++)
		list_init(&cs->bucket[i]);
	cs->ids = (struct net_ids){ .side = WIRE_NET_GUEST };
}

static struct list *bucket_of(struct net_conns *cs, uint32_t id)
{
	return &cs->bucket[id % NET_CONNS_BUCKETS];
}

static struct net_conn *find(struct net_conns *cs, uint32_t id)
{
	struct list *bucket = bucket_of(cs, id);

	list_for_each(at, tmp, bucket) {
		struct net_conn *c = list_entry(at, struct net_conn, node);

		if (c->wire.id == id)
			return c;
	}
	return NULL;
}

/* resets: when the socket is closed, the program gets a reset, not an end. */
static void set_reset(int fd, bool resets)
{
	const struct linger at_once = { .l_onoff = resets };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

/* Adds the socket to epoll. Sets it to reset when it is closed: if the helper is
 * killed, an end would look to the program like the end of the host's bytes. */
static int watch(struct net_conns *cs, struct net_conn *c)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				 .data = { .ptr = c } };

	set_reset(c->fd, true);
	return epoll_ctl(cs->epoll, EPOLL_CTL_ADD, c->fd, &e) ? -errno : 0;
}

static struct net_conn *make(struct net_conns *cs, uint32_t id, bool ours, int row)
{
	struct net_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->wire = (struct net_stream){ .id = id, .ours = ours };
	c->fd = -1;
	c->row = row;
	c->moved_ns = cs->now_ns;
	c->to.cap = cs->window;
	list_add_tail(bucket_of(cs, id), &c->node);
	cs->count++;
	if (row >= 0)
		cs->names->row[row].streams++;
	return c;
}

void net_conns_refuse(int fd)
{
	set_reset(fd, true);
	close(fd);
}

/* Closes a connection; net_conns_reap() frees it. reset: the program gets a reset. */
static void end(struct net_conns *cs, struct net_conn *c, bool reset)
{
	if (c->fd >= 0 && !reset)
		set_reset(c->fd, false);
	fd_close(&c->fd);
	if (c->row >= 0) {
		cs->names->row[c->row].streams--;
		cs->names->row[c->row].used_ns = cs->now_ns;
	}
	list_del(&c->turn);
	list_del(&c->node);
	list_add_tail(&cs->closed, &c->node);
	cs->count--;
}

void net_conns_reap(struct net_conns *cs)
{
	list_for_each(at, tmp, &cs->closed) {
		struct net_conn *c = list_entry(at, struct net_conn, node);

		list_del(&c->node);
		buf_done(&c->to);
		free(c);
	}
}

void net_conns_reset(struct net_conns *cs)
{
	for (unsigned i = 0; i < NET_CONNS_BUCKETS; i++)
		list_for_each(at, tmp, &cs->bucket[i])
			end(cs, list_entry(at, struct net_conn, node), true);
}

static int say(struct net_conns *cs, uint8_t type, uint8_t arg, uint32_t id)
{
	return net_port_put(cs->port, &(struct net_frame){ .type = type, .arg = arg,
							   .id = id });
}

/* Ends the connection on both sides: the host gets RESET. */
static int break_off(struct net_conns *cs, struct net_conn *c, enum net_reset why)
{
	uint32_t id = c->wire.id;

	end(cs, c, true);
	return say(cs, WIRE_NET_RESET, (uint8_t)why, id);
}

/* Closes a connection that both sides have ended, once the program has got all bytes. */
static void close_if_over(struct net_conns *cs, struct net_conn *c)
{
	if (net_stream_is_over(&c->wire) && c->shut)
		end(cs, c, false);
}

/* --- bytes to the program -------------------------------------------------------- */

/* Tells the host that the socket has taken n bytes. */
static int took(struct net_conns *cs, struct net_conn *c, size_t n)
{
	uint32_t told = net_stream_took(&c->wire, cs->window, (uint32_t)n);
	struct net_frame f = { .type = WIRE_NET_WINDOW, .id = c->wire.id,
			       .window = told };

	return told ? net_port_put(cs->port, &f) : 0;
}

/* Returns bytes that the socket took, or negative errno. */
static ssize_t give(const struct net_conn *c, const void *data, size_t size)
{
	ssize_t n = send(c->fd, data, size, MSG_NOSIGNAL);

	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/* Sends what waits; then the end, if the host has said that there is no more. */
static int push(struct net_conns *cs, struct net_conn *c)
{
	int r = 0;

	if (c->connecting)
		return 0;
	if (c->to.len) {
		ssize_t n = give(c, c->to.data, c->to.len);

		if (n < 0)
			return break_off(cs, c, NET_RESET_PEER);
		buf_eat(&c->to, (size_t)n);
		r = took(cs, c, (size_t)n);
	}
	if (!c->to.len)
		buf_done(&c->to);
	c->to.cap = cs->window;
	if (c->to.len || !c->wire.heard_end || c->shut)
		return r;
	shutdown(c->fd, SHUT_WR); /* the program may have gone; a read will say so */
	c->shut = true;
	close_if_over(cs, c);
	return r;
}

static int on_data(struct net_conns *cs, struct net_conn *c, const struct net_frame *f)
{
	ssize_t n = c->to.len ? 0 : give(c, f->data, f->size);

	if (n < 0)
		return break_off(cs, c, NET_RESET_PEER);
	/* the window bounds what waits, so only memory can be missing */
	if (buf_add(&c->to, f->data + n, f->size - (size_t)n) < 0)
		return break_off(cs, c, NET_RESET_LIMIT);
	return n ? took(cs, c, (size_t)n) : 0;
}

/* --- bytes to the host ------------------------------------------------------------ */

/* Queues the connection if it may have bytes to read, and the host may get some. */
static void line_up(struct net_conns *cs, struct net_conn *c)
{
	if (c->readable && !c->connecting && list_empty(&c->turn) &&
	    net_stream_room(&c->wire, cs->window))
		list_add_tail(&cs->turns, &c->turn);
}

static int on_end_of_program(struct net_conns *cs, struct net_conn *c)
{
	int r = say(cs, WIRE_NET_END, 0, c->wire.id);

	c->readable = false;
	c->wire.said_end = true;
	list_del(&c->turn);
	close_if_over(cs, c);
	return r;
}

static int move_one(struct net_conns *cs, struct net_conn *c)
{
	size_t most = MIN(net_stream_room(&c->wire, cs->window), WIRE_NET_DATA_MAX);
	ssize_t n;

	list_del(&c->turn);
	if (!most)
		return 0; /* the connection is queued again at the next WINDOW */
	n = recv(c->fd, net_port_room(cs->port), most, 0);
	if (n == 0)
		return on_end_of_program(cs, c);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return break_off(cs, c, NET_RESET_PEER);
	if (n < 0) {
		c->readable = errno == EINTR;
	} else {
		net_port_put_data(cs->port, c->wire.id, (size_t)n);
		c->wire.sent += (uint32_t)n;
		c->moved_ns = cs->now_ns;
	}
	line_up(cs, c);
	return 0;
}

int net_conns_move(struct net_conns *cs)
{
	int r = 0;

	while (!r && !list_empty(&cs->turns) &&
	       net_port_waiting(cs->port) < NET_PORT_FULL)
		r = move_one(cs, list_first(&cs->turns, struct net_conn, turn));
	return r;
}

/* Returns whether all bytes of the program are on their way: it has ended its output,
 * or has been silent for QUIET_NS. */
static bool is_settled(const struct net_conns *cs, const struct net_conn *c)
{
	return c->wire.said_end || (!c->readable && c->wire.opened &&
				    cs->now_ns - c->moved_ns >= QUIET_NS);
}

bool net_conns_are_settled(struct net_conns *cs)
{
	for (unsigned i = 0; i < NET_CONNS_BUCKETS; i++)
		list_for_each(at, tmp, &cs->bucket[i])
			if (!is_settled(cs, list_entry(at, struct net_conn, node)))
				return false;
	return true;
}

/* --- connections of programs ------------------------------------------------------ */

/* Writes into f the name or the address to which the program has connected.
 * *ret_row: the name's row; -1 for an address. Return: false: the program may not
 * connect there. */
static bool name_of(const struct net_conns *cs, const struct sockaddr_in6 *at,
		    struct net_frame *f, int *ret_row)
{
	const uint8_t *ip = at->sin6_addr.s6_addr;
	bool is_ip4 = !memcmp(ip, ip4_prefix, sizeof(ip4_prefix));
	uint32_t ip4 = (uint32_t)ip[12] << 24 | (uint32_t)ip[13] << 16 |
		       (uint32_t)ip[14] << 8 | ip[15];

	*ret_row = is_ip4 ? net_names_at(cs->names, ip4) : -1;
	if (*ret_row >= 0) {
		strcpy(f->name, cs->names->row[*ret_row].name);
		return true;
	}
	*ret_row = -1;
	if (!cs->table[NET_LOOKUP_NAMES].range[0].low ||
	    (is_ip4 && (ip4 >> 24 == 127 || ip4 >> 17 == NET_LOOKUP_NET >> 17)))
		return false;
	return inet_ntop(is_ip4 ? AF_INET : AF_INET6, ip + (is_ip4 ? 12 : 0), f->name,
			 sizeof(f->name)) != NULL;
}

int net_conns_accepted(struct net_conns *cs, int fd)
{
	struct sockaddr_in6 at = { .sin6_family = AF_UNSPEC };
	struct net_frame f = { .type = WIRE_NET_OPEN };
	socklen_t size = sizeof(at);
	struct net_conn *c = NULL;
	int row = -1;

	if (cs->count < cs->most && !getsockname(fd, (struct sockaddr *)&at, &size) &&
	    at.sin6_family == AF_INET6 && name_of(cs, &at, &f, &row))
		f.id = net_ids_next(&cs->ids);
	if (f.id)
		c = make(cs, f.id, true, row);
	if (!c) {
		net_conns_refuse(fd);
		return 0;
	}
	c->fd = fd;
	f.port = ntohs(at.sin6_port);
	if (watch(cs, c) < 0)
		end(cs, c, true);
	else
		return net_port_put(cs->port, &f);
	return 0;
}

/* --- connections to programs that listen ------------------------------------------ */

/* Starts connect(2) to the program's port. Return: 0: it is under way or done; or a
 * negative errno. */
static int connect_to(struct net_conns *cs, struct net_conn *c, bool is_ip6)
{
	struct sockaddr_in ip4 = { .sin_family = AF_INET, .sin_port = htons(c->port),
				   .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 ip6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(c->port),
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const struct sockaddr *at = is_ip6 ? (struct sockaddr *)&ip6
					   : (struct sockaddr *)&ip4;
	int yes = 1, unsent = NET_HELPER_UNSENT, r;

	fd_close(&c->fd);
	c->is_ip6 = is_ip6;
	c->fd = socket(at->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
		       sizeof(unsent));
	r = connect(c->fd, at, is_ip6 ? sizeof(ip6) : sizeof(ip4));
	if (r && errno != EINPROGRESS)
		return -errno;
	c->connecting = r != 0;
	return watch(cs, c);
}

static int connected(struct net_conns *cs, struct net_conn *c)
{
	c->connecting = false;
	c->wire.opened = true;
	line_up(cs, c);
	return say(cs, WIRE_NET_OPENED, 0, c->wire.id);
}

/* Connects to the job's program at 127.0.0.1, or if it does not listen there at ::1.
 * Sends RESET to the host if both refuse. */
static int try_on(struct net_conns *cs, struct net_conn *c, bool is_ip6)
{
	int r = connect_to(cs, c, is_ip6);

	if (r < 0 && !is_ip6)
		r = connect_to(cs, c, true);
	if (r < 0)
		return break_off(cs, c, NET_RESET_REFUSED);
	return c->connecting ? 0 : connected(cs, c);
}

static int on_connect(struct net_conns *cs, const struct net_frame *f)
{
	struct net_conn *c = NULL;

	if (net_ids_begin(&cs->ids, f->id) < 0)
		return -EPROTO;
	if (cs->count < cs->most)
		c = make(cs, f->id, false, -1);
	if (!c)
		return say(cs, WIRE_NET_RESET, NET_RESET_LIMIT, f->id);
	c->port = (uint16_t)f->port;
	return try_on(cs, c, false);
}

static int on_connect_ends(struct net_conns *cs, struct net_conn *c)
{
	socklen_t size = sizeof(int);
	int error = 0;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) || error) {
		if (!c->is_ip6)
			return try_on(cs, c, true);
		return break_off(cs, c, NET_RESET_REFUSED);
	}
	return connected(cs, c);
}

int net_conns_event(struct net_conns *cs, struct net_conn *c, uint32_t events)
{
	int r = 0;

	if (c->fd < 0)
		return 0; /* closed in this turn */
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		c->readable = true;
	if (c->connecting)
		return events & (EPOLLOUT | EPOLLHUP | EPOLLERR)
			       ? on_connect_ends(cs, c) : 0;
	if (events & EPOLLOUT)
		r = push(cs, c);
	if (c->fd >= 0)
		line_up(cs, c);
	return r;
}

/* --- frames -------------------------------------------------------------------------- */

static int on_frame(struct net_conns *cs, struct net_conn *c, const struct net_frame *f)
{
	if (net_stream_hear(&c->wire, cs->window, f) < 0)
		return -EPROTO;
	switch (f->type) {
	case WIRE_NET_DATA:
		return on_data(cs, c, f);
	case WIRE_NET_END:
		return push(cs, c);
	case WIRE_NET_RESET:
		end(cs, c, true);
		return 0;
	default: /* OPENED, WINDOW */
		line_up(cs, c);
		return 0;
	}
}

int net_conns_frame(struct net_conns *cs, const struct net_frame *f)
{
	struct net_conn *c;

	if (f->type == WIRE_NET_CONNECT)
		return on_connect(cs, f);
	c = find(cs, f->id);
	if (c)
		return on_frame(cs, c, f);
	return net_ids_was(&cs->ids, f->id) ? 0 : -EPROTO;
}
