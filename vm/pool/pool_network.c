/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side of a leased machine's relay: starts it with the machine's second
 * port, sends it orders, and reads its account. Owns the account's socket. A relay that
 * ends, or sends a wrong message, takes the machine's network with it; the machine stays.
 * A relay whose machine has lost its helper ends, too: servers and clients see that.
 */
#include "pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "guest/wire/wire_network.h"
#include "layout/base/cleanup.h"
#include "vm/net/network.h"
#include "vm/os/fdpass.h"

#define FINISH_NS (2 * NS_PER_S)

struct lease_network {
	struct loop *loop;
	int account; /* owned; -1: the relay has ended */
	struct loop_fd src;
	struct loop_timer late; /* of FINISH */
	bool helpless; /* the machine's helper has ended */
	struct vm_network_events ev;
};

static int send_order(struct lease_network *n, struct relay_order o, int fd)
{
	auto_close int owned = fd;
	ssize_t sent;

	if (!n || n->account < 0)
		return -EPIPE;
	o.version = RELAY_VERSION;
	sent = fdpass_send(n->account, &o, sizeof(o), &owned, fd >= 0 ? 1 : 0, MSG_DONTWAIT);
	return sent < 0 ? (int)sent : 0;
}

/* The supervisor has this end, too: only a shutdown tells the relay. */
static void close_account(struct lease_network *n)
{
	loop_fd_del(&n->src);
	loop_timer_del(&n->late);
	if (n->account >= 0)
		shutdown(n->account, SHUT_RDWR);
	fd_close(&n->account);
}

static void on_late(struct loop_timer *t)
{
	struct lease_network *n = t->arg;

	n->ev.finished(n->ev.arg);
}

/* Return: false if n may be gone, or its account is closed. */
static bool hear(struct lease_network *n, const struct relay_said *said)
{
	char why[RELAY_TEXT_MAX];

	switch (said->op) {
	case RELAY_ENDED:
	case RELAY_TOTAL:
	case RELAY_NOTE:
		n->ev.said(n->ev.arg, said);
		return true;
	case RELAY_FINISHED:
		loop_timer_del(&n->late);
		n->ev.said(n->ev.arg, said);
		n->ev.finished(n->ev.arg);
		return false;
	case RELAY_BROKE:
		memcpy(why, said->text, sizeof(why));
		close_account(n);
		n->ev.broke(n->ev.arg, why);
		return false;
	default:
		return true; /* READY */
	}
}

/* The daemon's log has the signal that has ended a relay: the account's end comes before
 * the jailer's report, and no run waits for that. */
static void lose(struct lease_network *n, const char *why)
{
	close_account(n);
	n->ev.lost(n->ev.arg, why);
}

/* One message a turn: an event may end the lease. */
static void on_account(struct loop_fd *src, uint32_t events)
{
	struct lease_network *n = src->arg;
	char bytes[sizeof(struct relay_said) + 1];
	struct relay_said said;
	unsigned count = 0;
	int fd = -1;
	ssize_t size = fdpass_receive(n->account, bytes, sizeof(bytes), &fd, 1, &count,
				      MSG_DONTWAIT);

	(void)events;
	if (count)
		close(fd);
	if (size == -EAGAIN || size == -EINTR)
		return;
	if (size <= 0)
		lose(n, n->helpless ? VM_NETWORK_HELPER_ENDED : "the relay ended");
	else if (relay_said_check(bytes, (size_t)size, count, &said, NULL) < 0)
		lose(n, "the relay sent a wrong message");
	else
		hear(n, &said);
}

/* --- its start ---------------------------------------------------------------------- */

/* Return: the routes of a NET, or NULL without memory. The caller frees them. */
static struct wire_route *put_routes(const struct vm_network_options *o,
				     uint32_t *ret_count)
{
	struct wire_route *routes = calloc(o->route_count + 1, sizeof(*routes));

	*ret_count = (uint32_t)MIN(o->route_count, (size_t)WIRE_NETWORK_ROUTES_MAX);
	for (uint32_t i = 0; routes && i < *ret_count; i++) {
		const struct net_block *b = &o->route[i];

		memcpy(routes[i].first, b->first.byte, sizeof(routes[i].first));
		routes[i].bits = b->bits;
		routes[i].ip6 = b->ip6;
	}
	return routes;
}

static int tell_guest(struct machine *m, const struct vm_network_options *o, int ours,
		      int theirs, struct err *err)
{
	struct wire_network net = {
		.flags = (o->names ? WIRE_NETWORK_NAMES : 0) |
			 (o->ports ? WIRE_NETWORK_PORTS : 0),
		.ca = o->ca ? o->ca : "",
	};
	auto_free struct wire_route *routes = put_routes(o, &net.route_count);

	if (!routes)
		return err_sys(err, -ENOMEM, "the machine's network");
	net.route = routes;
	return machine_network(m, &net, ours, theirs, err);
}

static int listen_to(struct lease_network *n)
{
	n->src = (struct loop_fd){
		.fd = n->account, .events = EPOLLIN, .fn = on_account, .arg = n,
	};
	return loop_fd_add(n->loop, &n->src);
}

static int begin(struct lease_network *n, struct machine *m,
		 const struct vm_network_options *o, struct err *err)
{
	const struct relay_order start = {
		.op = RELAY_START, .connections = o->connections, .rate = o->rate,
		.bytes = o->bytes, .uid = o->uid,
	};
	auto_close int theirs = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return err_sys(err, -errno, "a relay's account");
	n->account = pair[0];
	theirs = pair[1];
	r = listen_to(n);
	if (r == 0)
		r = send_order(n, start, -1);
	if (r < 0)
		return err_sys(err, r, "a relay's account");
	return tell_guest(m, o, n->account, theirs, err);
}

/* Gives the lease an account (owned; -1: none). Return: NULL without memory. */
static struct lease_network *blank(struct vm_lease *l, int account)
{
	struct lease_network *n = calloc(1, sizeof(*n));

	lease_network_end(l);
	if (!n) {
		fd_close(&account);
		return NULL;
	}
	n->loop = l->vm->loop;
	n->account = account;
	n->late = (struct loop_timer){ .fn = on_late, .arg = n };
	l->network = n;
	return n;
}

void lease_network_take(struct vm_lease *l, int account)
{
	if (account >= 0)
		blank(l, account);
}

int vm_network_adopt(struct vm_lease *l, const struct vm_network_events *ev)
{
	struct lease_network *n = l->network;

	if (!n || n->account < 0)
		return -ESRCH;
	n->ev = *ev;
	return listen_to(n);
}

int vm_network(struct vm_lease *l, const struct vm_network_options *o,
	       const struct vm_network_events *ev, struct err *err)
{
	struct lease_network *n = blank(l, -1);
	int r;

	if (!n)
		return err_sys(err, -ENOMEM, "the machine's network");
	n->ev = *ev;
	r = l->machine ? begin(n, l->machine, o, err)
		       : err_set(err, -ESRCH, "the machine has ended");
	if (r < 0)
		lease_network_end(l);
	return r;
}

int vm_network_door(struct vm_lease *l, int fd)
{
	return send_order(l->network, (struct relay_order){ .op = RELAY_DOOR }, fd);
}

int vm_network_port(struct vm_lease *l, unsigned port, int fd)
{
	return send_order(l->network, (struct relay_order){ .op = RELAY_PORT, .port = port },
			  fd);
}

int vm_network_close_port(struct vm_lease *l, unsigned port)
{
	return send_order(l->network, (struct relay_order){ .op = RELAY_CLOSE, .port = port },
			  -1);
}

int vm_network_route(struct vm_lease *l, const struct vm_network_options *o)
{
	struct wire_network net = { .flags = WIRE_NETWORK_NAMES, .ca = "" };
	auto_free struct wire_route *routes = put_routes(o, &net.route_count);

	if (!routes)
		return -ENOMEM;
	net.route = routes;
	return l->machine ? machine_route(l->machine, &net) : -ESRCH;
}

void vm_network_finish(struct vm_lease *l)
{
	struct lease_network *n = l->network;

	if (!n)
		return;
	/* without an order the relay cannot answer, and the timer ends the wait */
	send_order(n, (struct relay_order){ .op = RELAY_FINISH }, -1);
	loop_timer_set(n->loop, &n->late, FINISH_NS);
}

/* The server reads before the end all that the relay has said. */
void lease_network_lost(struct vm_lease *l)
{
	struct lease_network *n = l->network;

	if (!n || n->account < 0)
		return;
	n->helpless = true;
	shutdown(n->account, SHUT_RDWR);
}

void lease_network_end(struct vm_lease *l)
{
	struct lease_network *n = take_ptr(l->network);

	if (!n)
		return;
	close_account(n);
	free(n);
}
