/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper's work, once it has no rights: it answers look-ups, takes connections, and
 * moves bytes between them and the second port. It resolves no name and knows no rule.
 *
 *   program --UDP--> dns      -- RESOLVE --> host        net_serve.c, net_queries.c
 *   program --TCP--> listener -- OPEN, DATA --> host     net_conns.c
 *   program <--TCP-- helper   <-- CONNECT, DATA -- host  net_conns.c
 *
 * Before START each look-up is NXDOMAIN and each connection is reset; so it is again when
 * the host has closed the port.
 */
#ifndef GUEST_NET_SERVE_H
#define GUEST_NET_SERVE_H

#include "net_lookup.h"

struct net_serve_fds {
	int port, listener, dns, epoll; /* borrowed; none of them blocks */
	/* NET_LOOKUP_ROWS, which the sk_lookup program reads */
	struct net_lookup_row *table;
};

/* Serves until something fails, such as a host that breaks the protocol. Return: a
 * negative errno. One call a process. */
int net_serve(const struct net_serve_fds *fds);

#endif
