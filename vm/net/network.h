/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a leased machine, as its owner uses it: a relay moves the bytes between
 * the machine and sockets that a door has connected. vm/pool implements it. All calls and
 * events on the loop; no event is called from inside a call.
 */
#ifndef VM_NET_NETWORK_H
#define VM_NET_NETWORK_H

#include "relay_wire.h"

struct vm_lease;

struct vm_network_events {
	/* RELAY_ENDED, RELAY_TOTAL, RELAY_FINISHED or RELAY_NOTE. */
	void (*said)(void *arg, const struct relay_said *said);
	/* After vm_network_finish(): everything under way was delivered, or 2 s are over. */
	void (*finished)(void *arg);
	/* The relay, or the machine's own network helper, has ended; the program runs on
	 * without a network. why: a sentence. */
	void (*lost)(void *arg, const char *why);
	/* The guest broke the protocol: the machine has to be ended. */
	void (*broke)(void *arg, const char *why);
	void *arg;
};

#define VM_NETWORK_HELPER_ENDED "the machine's network helper ended"

struct vm_network_options {
	uint32_t connections, rate, uid; /* for RELAY_START */
	uint64_t bytes;
	bool names, ports; /* flags of the wire's NET */
	/* address blocks that the guest routes to its helper */
	const struct net_block *route;
	size_t route_count;
	const char *ca; /* certificates that programs trust as well, PEM; "": none */
};

/* Starts the relay of a leased machine, and tells the guest; after granted(), before
 * vm_run() or vm_share(). Copies *ev. Return: 0, or negative errno with a sentence. */
int vm_network(struct vm_lease *lease, const struct vm_network_options *o,
	       const struct vm_network_events *ev, struct err *err);
/* Hears the relay of an adopted lease; before the loop runs. Copies *ev. Return: 0;
 * -ESRCH: the machine had no relay, or the supervisor does not have its account. */
int vm_network_adopt(struct vm_lease *lease, const struct vm_network_events *ev);
/* Gives the relay an end of a door's socket, which replaces the last one. Consumes fd. */
int vm_network_door(struct vm_lease *lease, int fd);
/* Gives the relay a listener for connections to a program's port. Consumes fd. */
int vm_network_port(struct vm_lease *lease, unsigned port, int fd);
/* Closes that listener. */
int vm_network_close_port(struct vm_lease *lease, unsigned port);
/* Makes the machine route more blocks of addresses; the others stay. Of *o only the
 * routes count. Return: 0 or negative errno. */
int vm_network_route(struct vm_lease *lease, const struct vm_network_options *o);
/* The program has ended: finished() or lost() follows. */
void vm_network_finish(struct vm_lease *lease);

#endif
