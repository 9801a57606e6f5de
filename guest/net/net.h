/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's side of a job's network: sockets, the sk_lookup program and the helper
 * process. All of it is made before the template is saved, so a clone pays nothing. Called
 * by PID 1, in this order.
 */
#ifndef GUEST_NET_NET_H
#define GUEST_NET_NET_H

#include <sys/types.h>

#include "net_lookup.h"

struct net {
	int port;     /* owned; the second port */
	int listener; /* owned; each connection to an address that stands for a name */
	int dns;      /* owned; datagrams to 127.0.0.53:53 */
	struct net_lookup lookup;
	pid_t helper;
};

/* Opens the port; before /dev is reduced. Each call returns 0 or a negative errno with
 * *err. */
int net_open(struct net *n, struct err *err);
/* Makes the sockets and loads the program; lo is up, and bpf(2) is not yet closed. */
int net_prepare(struct net *n, struct err *err);
/* Starts the helper, once control groups can be made. The sockets are then its own; PID 1
 * keeps the program's link. */
int net_start(struct net *n, struct err *err);

#endif
