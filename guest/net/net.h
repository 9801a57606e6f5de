/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's side of a job's network: sockets, the sk_lookup program and the helper
 * process. PID 1 calls the functions in this order. It makes all of it before the
 * template is saved, so a clone pays nothing.
 */
#ifndef GUEST_NET_NET_H
#define GUEST_NET_NET_H

#include <stdbool.h>
#include <sys/types.h>

#include "guest/wire/wire_network.h"
#include "net_lookup.h"

/* This file exists once a NET frame with WIRE_NETWORK_NAMES has come: a program looks
 * for it to learn whether it has a network. */
#define NET_MARK "/run/network"

struct net {
	int port;     /* owned; the second port */
	int listener; /* owned; gets the connections of programs to addresses that NET
		       * has routed */
	int dns;      /* owned; datagrams to 127.0.0.53:53 */
	struct net_lookup lookup;
	/* an array of NET_LOOKUP_ROWS, in memory that PID 1, the helper and the
	 * sk_lookup program share */
	struct net_lookup_row *table;
	pid_t helper; /* 0: the helper has ended */
	bool on;      /* NET has come */
};

/* Opens the second port. Call it before mounts_reduce_dev(), which removes the port's
 * node. Each function here returns 0 or a negative errno with *err. */
int net_open(struct net *n, struct err *err);
/* Makes the sockets and loads the sk_lookup program. Call it when lo is up, and before
 * mounts_seal() makes /proc/sys read-only. */
int net_prepare(struct net *n, struct err *err);
/* Starts the helper; call it after cgroup_setup(). PID 1 closes its copies of the port
 * and of the sockets, and keeps the link of the sk_lookup program. */
int net_start(struct net *n, struct err *err);
/* Handles a NET frame: gives lo its address, makes the routes, adds the certificates. A
 * second NET only adds routes. */
int net_apply(struct net *n, const struct wire_network *net, struct err *err);

#endif
