/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of one machine: a relay that moves the bytes, and a place with the door that
 * looks up names and connects (fsd/network). Joins what the two of them say about a
 * stream. A run's machine has one, a session's, and a sandbox's. On the loop.
 */
#ifndef FSD_MACHINE_NETWORK_H
#define FSD_MACHINE_NETWORK_H

#include "fsd/fsd.h"

struct machine_network;
struct vm_lease;

/* Hears of the streams of the programs in a machine. Texts are borrowed. */
struct network_listener {
	/* A connection was made: it is open until ended() with the same number. */
	void (*opened)(void *arg, uint32_t stream, const struct result_connection *c);
	/* A connection has ended, or was not made (then stream may be 0). */
	void (*ended)(void *arg, uint32_t stream, const struct result_connection *c);
	/* A client's connection to a port of a program has ended. The bytes are as that
	 * program sees them. NULL: no listener. */
	void (*port_ended)(void *arg, unsigned port, uint64_t sent, uint64_t received);
	/* Bytes of all streams since the machine began. */
	void (*total)(void *arg, uint64_t sent, uint64_t received);
	/* A sentence about the network itself: its door ended. */
	void (*said)(void *arg, const char *sentence);
	/* The machine has no network any more, and c->reason says why; c has no host, for
	 * its programs may have had no connection. */
	void (*lost)(void *arg, const struct result_connection *c);
	/* All that the program gave to the kernel was delivered, or cannot be. Once, after
	 * machine_network_finish(). */
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

/* Returns whether a machine with that config needs a relay. */
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
 * The same for an adopted machine that had a relay: it keeps its connections and ports.
 * Before the loop runs. Return: 0; -ENOENT: it had no network when its server ended; another
 * negative errno: it is lost.
 */
int machine_network_adopt(struct fsd *d, struct vm_lease *lease,
			  const struct machine_network_owner *owner,
			  struct machine_network **ret);
/* Before the machine ends. NULL: no-op. */
void machine_network_free(struct machine_network *n);
/* Replaces the listener; NULL: none. It hears at once of a relay that has ended. */
void machine_network_listen(struct machine_network *n,
			    const struct network_listener *listener, void *arg);
/* The config of the machine has changed. Return: 0 or negative errno. */
int machine_network_change(struct machine_network *n, const struct job_config *config);
/* The program has ended: finished() follows within 2 s. */
void machine_network_finish(struct machine_network *n);

#endif
