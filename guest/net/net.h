/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's side of a job's network: sockets, the sk_lookup program and the helper
 * process. All of it is made before the template is saved, so a clone pays nothing. Called
 * by PID 1, in this order.
 */
#ifndef GUEST_NET_NET_H
#define GUEST_NET_NET_H

#include <stdbool.h>
#include <sys/types.h>

#include "guest/wire/wire_network.h"
#include "net_lookup.h"

/* There once NET has come with WIRE_NETWORK_NAMES: programs may ask whether they have a
 * network. */
#define NET_MARK "/run/network"

struct net {
	int port;     /* owned; the second port */
	int listener; /* owned; each connection to an address that stands for a name */
	int dns;      /* owned; datagrams to 127.0.0.53:53 */
	struct net_lookup lookup;
	/* NET_LOOKUP_ROWS, which the helper shares */
	struct net_lookup_row *table;
	pid_t helper; /* 0: the helper has ended */
	bool on;      /* NET has come */
};

/* Opens the port; before /dev is reduced. Each call returns 0 or a negative errno with
 * *err. */
int net_open(struct net *n, struct err *err);
/* Makes the sockets and loads the program; lo is up, and bpf(2) is not yet closed. */
int net_prepare(struct net *n, struct err *err);
/* Starts the helper, once control groups can be made. The sockets are then its own; PID 1
 * keeps the program's link. */
int net_start(struct net *n, struct err *err);
/* Handles NET: addresses, routes, certificates. A second one adds routes only. */
int net_apply(struct net *n, const struct wire_network *net, struct err *err);

#endif
