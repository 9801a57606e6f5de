/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of one machine: a relay, which moves the bytes, and a socket of the door,
 * which looks up names and connects (fsd/network). Joins what the relay and the door
 * report about a stream. The machine may be that of a run, a session or a sandbox. On the
 * loop.
 */
#ifndef FSD_MACHINE_NETWORK_H
#define FSD_MACHINE_NETWORK_H

#include "fsd/fsd.h"

struct machine_network;
struct vm_lease;

/* Callbacks about the streams of the programs in a machine. Texts are borrowed. */
struct network_listener {
	/* A connection was made: it is open until ended() with the same number. */
	void (*opened)(void *arg, uint32_t stream, const struct result_connection *c);
	/* A connection has ended, or was not made (then stream may be 0). */
	void (*ended)(void *arg, uint32_t stream, const struct result_connection *c);
	/* A client's connection to a port of a program has ended. sent: bytes that the
	 * program has sent. May be NULL. */
	void (*port_ended)(void *arg, unsigned port, uint64_t sent, uint64_t received);
	/* Bytes of all streams since the machine began. */
	void (*total)(void *arg, uint64_t sent, uint64_t received);
	/* A sentence about the network itself, such as the end of the door. */
	void (*said)(void *arg, const char *sentence);
	/* The machine has no network any more; c->reason says why. c->host is NULL, since
	 * the loss concerns no single connection. */
	void (*lost)(void *arg, const struct result_connection *c);
	/* All bytes that the program gave to the guest's kernel were delivered, or cannot
	 * be. Called once, after machine_network_finish(). */
	void (*finished)(void *arg);
	/* The machine broke the network's protocol; it has to be ended. */
	void (*broke)(void *arg, const char *sentence);
};

/* The job, session or sandbox of a machine. */
struct machine_network_owner {
	uid_t uid;
	gid_t gid;
	const char *name; /* for the operator's log; borrowed */
	uint64_t key;     /* PORTS_KEY() of fsd/network/ports.h */
};

/* True if a machine with this config needs a relay. */
bool machine_network_wanted(const struct job_config *config);
/*
 * Gives a machine that was just granted the network and the ports that config names; before
 * vm_run() or vm_share(). The lease is borrowed until machine_network_free(). Return: 0;
 * negative errno with a sentence.
 */
int machine_network_new(struct fsd *d, struct vm_lease *lease,
			const struct machine_network_owner *owner,
			const struct job_config *config, struct machine_network **ret,
			struct err *err);
/*
 * The same for an adopted machine: it keeps its relay, its connections and ports. Call it
 * before the loop runs. Return: 0; -ENOENT: the machine had no network when its server
 * ended; another negative errno: the network is lost.
 */
int machine_network_adopt(struct fsd *d, struct vm_lease *lease,
			  const struct machine_network_owner *owner,
			  struct machine_network **ret);
/* Call it before the machine ends. n NULL: no-op. */
void machine_network_free(struct machine_network *n);
/* Replaces the listener; NULL: none. If the network is lost already, calls lost() at
 * once. */
void machine_network_listen(struct machine_network *n,
			    const struct network_listener *listener, void *arg);
/* Call it when the config of the machine has changed: applies its new rules and ports.
 * Return: 0 or negative errno. */
int machine_network_change(struct machine_network *n, const struct job_config *config);
/* The program has ended: finished() follows within 2 s. */
void machine_network_finish(struct machine_network *n);

#endif
