/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of one server: the operator's policy, the door that looks up names and
 * connects (fsd/door), and the jobs that use it. A door that ends is replaced, and each
 * job then gets a new socket.
 *
 *   network_new -> network_open -> network_join ... network_leave -> network_free
 *
 * The door ends with its server. The next server starts another one, and reads what the
 * former one had still told (network_take_over()).
 *
 * All functions run on the loop; network_open() before it runs, network_reload() in a
 * fiber.
 */
#ifndef FSD_NETWORK_H
#define FSD_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout/layout.h"
#include "layout/network/policy.h"
#include "layout/network/wish.h"
#include "vm/net/door_wire.h"
#include "vm/os/loop.h"

struct network;
struct network_job;

struct ports_table;
struct fdstore;
struct handover;

/* handover, fdstore: for the next server; borrowed. Return: 0 or -ENOMEM. There is no
 * policy yet. */
int network_new(struct handover *handover, struct fdstore *fdstore, struct network **ret);
void network_free(struct network *n); /* NULL: does nothing */

/* Machines have relays, so their programs can have ports; until then none has any. */
void network_have_relays(struct network *n);
/* Returns the table of the ports of running machines; borrowed. */
struct ports_table *network_ports(const struct network *n);

/* Returns whether the operator lets jobs use a network: the mount has a policy. */
bool network_is_on(const struct network *n);
/*
 * Checks that a job of the user may have the wish. Return: 0; -EINVAL: there is no
 * policy; -EACCES: the policy does not allow a rule. *err has a sentence that names
 * "network".
 */
int network_check(const struct network *n, uid_t uid, const struct net_wish *wish,
		  struct err *err);
/* Returns whether a job of the user may have "ports"; without a policy every user may,
 * where machines have relays. */
bool network_allows_ports(const struct network *n, uid_t uid);
/* Returns the user's limits and rules. The lists in it are borrowed until the loop gets
 * control. Without a policy it allows no server and has the usual limits. */
struct net_share network_share(const struct network *n, uid_t uid);
/*
 * Lists the nets that a machine must route to its helper: those that rules of the wish
 * name, or of the policy where the wish asks for all. Return: their number, at most
 * `most`.
 */
size_t network_routes(const struct network *n, uid_t uid, const struct net_wish *wish,
		      struct net_block *ret, size_t most);
/* Appends the text of .fsd/network for the user. */
void network_show(const struct network *n, uid_t uid, struct buf *out);
/* Returns the whole policy, for "env" and "audit"; borrowed until the loop gets control.
 * NULL: there is none. */
const struct net_policy *network_policy(const struct network *n);
/* Returns the operator's certificates in PEM form and their length; borrowed until the
 * loop gets control. NULL: there are none. */
const char *network_ca(const struct network *n, size_t *ret_len);

/* --- the door ------------------------------------------------------------ */

/* A door's process: its socket, owned, and its pid. */
struct network_door {
	int sock;
	pid_t pid;
};

struct network_use {
	struct loop *loop;
	/* Starts a door. In a fiber it waits; outside of all fibers it blocks. Return: 0 and
	 * *ret, or negative errno with a sentence. */
	int (*start)(void *arg, struct network_door *ret, struct err *err);
	void *arg;
};

/*
 * Starts the first door and takes its policy. Blocks. is_next: the mount is served already,
 * so a policy that is wrong now must not end it: the log says so, and another door is
 * started later. Return: 0, or negative errno with a sentence.
 */
int network_open(struct network *n, const struct network_use *use, bool is_next,
		 struct err *err);
/* Starts a door that reads the policy as it is now; all jobs get sockets of it. If that
 * policy is wrong the old door stays. Waits. Return: 0, or negative errno with a sentence. */
int network_reload(struct network *n, struct err *err);
/* Ends all waiting for doors: the loop does not run any more. n may be NULL. Return: true
 * if a fiber was woken. */
bool network_drain(struct network *n);

struct network_watch {
	/* The relay's end of a socket of the door: during network_join() or later, and
	 * again for each door that replaces one. The callee owns fd. */
	void (*door)(void *arg, int fd);
	/* The policy was read anew; door() follows. wish: the job's, borrowed. */
	void (*renewed)(void *arg, const char *wish, size_t len);
	/* The door has decided something for this job. */
	void (*record)(void *arg, const struct door_record *r);
	/* A sentence about the door itself: it has ended. */
	void (*said)(void *arg, const char *sentence);
};

/*
 * A job of the user begins to use the network. wish: JSON text of "network" of at most
 * DOOR_WISH_MAX bytes. watch, arg: borrowed until network_leave(). Return: 0; -EINVAL: the
 * wish is too long; -ENOMEM.
 */
int network_join(struct network *n, uid_t uid, const char *wish, size_t len,
		 const struct network_watch *watch, void *arg, struct network_job **ret);
/* The wish has changed: a new socket follows by door(). Return: as network_join(). */
int network_change(struct network_job *j, const char *wish, size_t len);
void network_leave(struct network_job *j); /* NULL: no-op */
/* Return: the number of the job's socket at the door, which no other socket has; 0: it has
 * none yet. */
uint32_t network_no(const struct network_job *j);
/* Another server had given the job that number: what its door still told is for this job.
 * Before network_take_over(). */
void network_was(struct network_job *j, uint32_t no);
/* After the last network_was(), before the loop runs: reads the rest of what the former
 * server's door has told, and forgets the ports that no machine has any more. */
void network_take_over(struct network *n);

/* Appends the door's lines of .fsd/security; nothing without a policy. */
void network_walls(const struct network *n, struct buf *out);
/* How many verdicts the doors of this server have told. */
void network_counts(const struct network *n, uint64_t ret[NET_TOLD_MAX]);

#endif
