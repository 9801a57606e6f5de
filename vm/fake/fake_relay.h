/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the relays of fake machines (vm/net/relay.h), each in a process of its own, by a
 * process that is forked before the server gives up its rights. They have no jail.
 */
#ifndef VM_FAKE_RELAY_H
#define VM_FAKE_RELAY_H

#include <sys/types.h>

struct fake_relays {
	int sock;  /* owned; -1: not started */
	pid_t pid; /* the process that forks the relays */
};

/* Return: 0 or negative errno. */
int fake_relays_start(struct fake_relays *r);
/* Starts a relay with these descriptors (borrowed). Return: 0 or negative errno. */
int fake_relay(const struct fake_relays *r, int account, int port);
/* Ends all of them. */
void fake_relays_end(struct fake_relays *r);

#endif
