/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of programs, each of which is a stream of the second port. Sockets are
 * watched edge-triggered: a socket that is `readable` stays so until a read says that it
 * is empty, and no socket wakes the helper while its window is closed.
 */
#ifndef GUEST_NET_CONNS_H
#define GUEST_NET_CONNS_H

#include "guest/wire/net_stream.h"
#include "layout/base/buf.h"
#include "layout/base/list.h"
#include "net_lookup.h"
#include "net_names.h"
#include "net_port.h"

#define NET_CONNS_BUCKETS 256u
/* fewer than descriptors of the helper */
#define NET_CONNS_MAX 2000u

struct net_conn {
	struct list node; /* in a bucket of conns, or in `closed` */
	struct list turn; /* in `turns`, while bytes can be moved to the host */
	struct net_stream wire;
	int fd;          /* owned; -1: closed */
	int row;         /* row of the server's name; -1: none */
	uint16_t port;   /* only while it connects to a listening program: the program's
			  * port */
	bool connecting; /* connect(2) is under way */
	bool is_ip6;     /* connects to ::1, not to 127.0.0.1 */
	bool readable, shut;
	uint64_t moved_ns; /* when bytes last came from the program */
	struct buf to;     /* bytes for the program that its socket has not taken */
};

struct net_conns {
	struct net_port *port;     /* borrowed, as the three below */
	struct net_names *names;
	const struct net_lookup_row *table;
	int epoll;
	uint32_t window;
	unsigned most, count;
	uint64_t now_ns;     /* time at the start of the present turn */
	struct net_ids ids;
	struct list turns, closed, bucket[NET_CONNS_BUCKETS];
};

void net_conns_open(struct net_conns *cs);
/* Adds a connection that the helper has accepted; consumes fd. Return: 0, or a negative
 * errno that ends the helper. */
int net_conns_accepted(struct net_conns *cs, int fd);
/* Resets an accepted connection that the helper will not serve. Consumes fd. */
void net_conns_refuse(int fd);
/* Handles an event of epoll(7) on a connection. Return: 0, or a negative errno that
 * ends the helper. */
int net_conns_event(struct net_conns *cs, struct net_conn *c, uint32_t events);
/* Handles a frame about a stream: CONNECT, OPENED, DATA, WINDOW, END or RESET. Return:
 * 0, or a negative errno that ends the helper; -EPROTO: the host broke the protocol. */
int net_conns_frame(struct net_conns *cs, const struct net_frame *f);
/* Moves bytes of programs to the port, one frame of each connection in turn, until none
 * has more or the port is full. */
int net_conns_move(struct net_conns *cs);
/* Returns whether each program's bytes are on their way to the host. */
bool net_conns_are_settled(struct net_conns *cs);
/* Resets all connections and sends the host no frame. */
void net_conns_reset(struct net_conns *cs);
/* Frees the connections that were closed in this turn. Call it at the end of a turn:
 * until then an event of epoll may still point to one. */
void net_conns_reap(struct net_conns *cs);

#endif
