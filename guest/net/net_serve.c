/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper's loop. One turn: events, queries, new connections, frames of the host, bytes
 * of programs, what the port takes. Each source is watched edge-triggered and has a flag
 * that stays until a read finds it empty; so a source that may not be read now, and a port
 * whose host has gone, cost nothing.
 *
 * In order: look-ups, connections, frames, the end of a program, the loop. It owns the
 * names, the connections and the rows of the table.
 */
#include "net_serve.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "layout/base/num.h"
#include "net_conns.h"
#include "net_queries.h"

#define EVENTS 64
#define ACCEPTS 64 /* in one turn */
#define QUERIES 64
#define FINISH_NS (2ull * 1000000000u)
#define FINISH_LOOK_MS 10

struct serve {
	const struct net_serve_fds *fds;
	bool started, over; /* START has come; the host has closed the port */
	bool finishing;
	bool accepts, asks; /* there may be connections, queries */
	uint64_t finish_ns; /* FINISHED is said then, whatever is left */
	struct net_names names;
	struct net_conns conns;
	struct net_port port;
	struct net_queries queries;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool serves(const struct serve *s)
{
	return s->started && !s->over;
}

static bool port_has_room(const struct serve *s)
{
	return net_port_waiting(&s->port) < NET_PORT_STOPS;
}

/* --- look-ups ------------------------------------------------------------------- */

/* Sends the answer. An error is ignored: the program asks again. */
static void answer(const struct serve *s, const struct net_dns_query *dns,
		   const uint8_t *bytes, const struct sockaddr_in *to,
		   enum net_dns_code code, int row)
{
	static uint8_t text[NET_DNS_ANSWER_MAX];
	const char *name = row < 0 ? NULL : s->names.row[row].name;
	size_t size = net_dns_write(dns, bytes, code, NET_NAMES_FIRST + (uint32_t)row,
				    name, text);

	sendto(s->fds->dns, text, size, 0, (const struct sockaddr *)to, sizeof(*to));
}

/* Answers a query for an address's name. The host is not asked: the table has every
 * name. */
static void answer_reverse(const struct serve *s, const struct net_dns_query *dns,
			   const uint8_t *bytes, const struct sockaddr_in *to)
{
	int row = net_names_at(&s->names, dns->address);

	answer(s, dns, bytes, to, row < 0 ? NET_DNS_NXDOMAIN : NET_DNS_OK, row);
}

static int ask(struct serve *s, const struct net_dns_query *dns, const uint8_t *bytes,
	       const struct sockaddr_in *from)
{
	struct net_frame f = { .type = WIRE_NET_RESOLVE };
	bool asks;

	f.id = net_queries_add(&s->queries, dns, bytes, from, s->conns.now_ns, &asks);
	if (!f.id)
		answer(s, dns, bytes, from, NET_DNS_SERVFAIL, -1);
	if (!f.id || !asks)
		return 0;
	strcpy(f.name, dns->name);
	return net_port_put(&s->port, &f);
}

static int on_query(struct serve *s, const uint8_t *bytes, size_t size,
		    const struct sockaddr_in *from)
{
	struct net_dns_query dns;

	if (net_dns_read(bytes, size, &dns) < 0)
		return 0;
	if (dns.code != NET_DNS_OK || !serves(s))
		answer(s, &dns, bytes, from, dns.code ? dns.code : NET_DNS_NXDOMAIN, -1);
	else if (dns.asks == NET_DNS_REVERSE)
		answer_reverse(s, &dns, bytes, from);
	else
		return ask(s, &dns, bytes, from);
	return 0;
}

static int read_queries(struct serve *s)
{
	static uint8_t bytes[NET_DNS_QUERY_MAX + 1];
	int r = 0;

	for (int i = 0; !r && s->asks && i < QUERIES && port_has_room(s); i++) {
		struct sockaddr_in from;
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(s->fds->dns, bytes, sizeof(bytes), 0,
				     (struct sockaddr *)&from, &len);

		if (n >= 0)
			r = on_query(s, bytes, (size_t)n, &from);
		else if (errno != EINTR)
			s->asks = false;
	}
	return r;
}

static void set_ranges(struct serve *s, int row, const struct net_frame *f)
{
	struct net_lookup_row *to = &s->fds->table[row];

	for (uint32_t i = 0; i < NET_LOOKUP_RANGES; i++) {
		bool has = f && i < f->range_count;

		to->range[i].low = has ? f->range[i].low : 0;
		to->range[i].high = has ? f->range[i].high : 0;
	}
}

/* Gives the name of an answer a row, or closes the row that it has. Return: the row; or -1
 * and a code that is not OK. */
static int place_name(struct serve *s, const struct net_frame *f, const char *name,
		      enum net_dns_code *ret)
{
	bool is_new;
	int row;

	*ret = f->arg == NET_ANSWER_NONE ? NET_DNS_NXDOMAIN : NET_DNS_SERVFAIL;
	if (f->arg == NET_ANSWER_OK) {
		row = net_names_take(&s->names, name, s->conns.now_ns, &is_new);
		if (row < 0)
			return -1;
		set_ranges(s, row, f);
		*ret = NET_DNS_OK;
		return row;
	}
	row = net_names_find(&s->names, name);
	if (row >= 0 && f->arg == NET_ANSWER_NONE)
		set_ranges(s, row, NULL);
	return -1;
}

/* Answers each program that has asked for the name. */
static int on_answer(struct serve *s, const struct net_frame *f)
{
	const struct net_query *q = net_queries_take(&s->queries, f->id);
	enum net_dns_code code = NET_DNS_SERVFAIL;
	int row = -1, r = 0;

	if (!net_queries_was(&s->queries, f->id))
		return -EPROTO;
	if (q) {
		row = place_name(s, f, q->dns.name, &code);
		if (row < 0 && f->arg == NET_ANSWER_OK)
			r = net_port_put(&s->port,
					 &(struct net_frame){ .type = WIRE_NET_FULL });
	}
	for (; q; q = net_queries_take(&s->queries, f->id))
		answer(s, &q->dns, q->bytes, &q->from, code, row);
	return r;
}

/* --- connections ----------------------------------------------------------------- */

static int accept_some(struct serve *s)
{
	int r = 0;

	for (int i = 0; !r && s->accepts && i < ACCEPTS && port_has_room(s); i++) {
		int fd = accept4(s->fds->listener, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			s->accepts = errno == ECONNABORTED || errno == EINTR;
		else if (serves(s))
			r = net_conns_accepted(&s->conns, fd);
		else
			net_conns_refuse(fd);
	}
	return r;
}

/* --- frames ------------------------------------------------------------------------ */

static int on_start(struct serve *s, const struct net_frame *f)
{
	if (s->started)
		return -EPROTO;
	s->started = true;
	s->conns.window = f->window;
	s->conns.most = MIN(f->streams, NET_CONNS_MAX);
	return net_names_open(&s->names, f->names);
}

static void on_finish(struct serve *s)
{
	s->finishing = true;
	s->finish_ns = s->conns.now_ns + FINISH_NS;
}

static int on_frame(struct serve *s, const struct net_frame *f)
{
	if (f->type == WIRE_NET_START)
		return on_start(s, f);
	if (!s->started)
		return -EPROTO;
	if (f->type == WIRE_NET_ANSWER)
		return on_answer(s, f);
	if (f->type != WIRE_NET_FINISH)
		return net_conns_frame(&s->conns, f);
	on_finish(s);
	return 0;
}

/* The host has closed the port: the network is over, and programs run on. */
static void hang_up(struct serve *s)
{
	const struct net_query *q;

	s->over = true;
	s->finishing = false;
	for (unsigned i = 0; i < s->names.most; i++)
		if (s->names.row[i].name[0]) /* the ranges of free rows were never
					      * written */
			set_ranges(s, (int)i, NULL);
	set_ranges(s, NET_LOOKUP_NAMES, NULL);
	net_conns_reset(&s->conns);
	while ((q = net_queries_take(&s->queries, 0)))
		answer(s, &q->dns, q->bytes, &q->from, NET_DNS_NXDOMAIN, -1);
	net_names_done(&s->names);
	epoll_ctl(s->fds->epoll, EPOLL_CTL_DEL, s->fds->port, NULL);
	s->port.reads = false;
	s->port.out_at = s->port.out_end = 0;
}

static bool may_read(const struct serve *s)
{
	return s->port.reads && port_has_room(s);
}

static int read_frames(struct serve *s)
{
	struct net_frame f;
	int r;

	if (!may_read(s))
		return 0;
	r = net_port_fill(&s->port);
	if (r == -EPIPE) {
		/* before START that says nothing: the next server holds another end */
		s->port.reads = false;
		if (s->started)
			hang_up(s);
		return 0;
	}
	while (!r && (r = net_port_next(&s->port, &f)) > 0)
		r = on_frame(s, &f);
	return r;
}

/* --- the end of a program ------------------------------------------------------------- */

/* Bytes that the program gave to the kernel before it ended are in sockets now. */
static int check_finish(struct serve *s)
{
	bool settled = !s->accepts && net_conns_are_settled(&s->conns);

	if (!s->finishing || (!settled && s->conns.now_ns < s->finish_ns))
		return 0;
	s->finishing = false;
	return net_port_put(&s->port, &(struct net_frame){ .type = WIRE_NET_FINISHED });
}

/* --- the loop -------------------------------------------------------------------------- */

static int on_event(struct serve *s, const struct epoll_event *e)
{
	if (e->data.ptr == &s->fds->listener)
		s->accepts = true;
	else if (e->data.ptr == &s->fds->dns)
		s->asks = true;
	else if (e->data.ptr == &s->fds->port)
		s->port.reads = true;
	else
		return net_conns_event(&s->conns, e->data.ptr, e->events);
	return 0;
}

static int work(struct serve *s)
{
	int r = read_frames(s);

	if (!r)
		r = read_queries(s);
	if (!r)
		r = accept_some(s);
	if (!r)
		r = net_conns_move(&s->conns);
	if (!r && s->finishing)
		r = check_finish(s);
	if (!r && serves(s))
		r = net_port_flush(&s->port);
	if (r == -EPIPE && serves(s)) {
		hang_up(s);
		r = 0;
	}
	net_conns_reap(&s->conns);
	return r;
}

/* Returns milliseconds until there is work without an event; -1: never. */
static int idle_ms(const struct serve *s)
{
	bool room = port_has_room(s);

	if (room && (s->port.reads || s->asks || s->accepts))
		return 0;
	if (!list_empty(&s->conns.turns) && net_port_waiting(&s->port) < NET_PORT_FULL)
		return 0;
	return s->finishing ? FINISH_LOOK_MS : -1;
}

static int watch(const struct net_serve_fds *fds, const int *fd, uint32_t events)
{
	struct epoll_event e = { .events = events | EPOLLET };

	e.data.ptr = (void *)(uintptr_t)fd;
	return epoll_ctl(fds->epoll, EPOLL_CTL_ADD, *fd, &e) ? -errno : 0;
}

static int watch_all(const struct net_serve_fds *fds)
{
	int r = watch(fds, &fds->listener, EPOLLIN);

	if (!r)
		r = watch(fds, &fds->dns, EPOLLIN);
	return r ? r : watch(fds, &fds->port, EPOLLIN | EPOLLOUT);
}

int net_serve(const struct net_serve_fds *fds)
{
	static struct serve serve;
	struct serve *s = &serve;
	struct epoll_event e[EVENTS];
	int r = watch_all(fds);

	s->fds = fds;
	s->port.fd = fds->port;
	s->conns.port = &s->port;
	s->conns.names = &s->names;
	s->conns.table = fds->table;
	s->conns.epoll = fds->epoll;
	net_conns_open(&s->conns);
	while (!r) {
		int n = epoll_wait(fds->epoll, e, EVENTS, idle_ms(s));

		if (n < 0 && errno != EINTR)
			return -errno;
		s->conns.now_ns = now_ns();
		for (int i = 0; !r && i < n; i++)
			r = on_event(s, &e[i]);
		if (!r)
			r = work(s);
	}
	return r;
}
