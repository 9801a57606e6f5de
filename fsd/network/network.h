/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of one server: the operator's policy, the door that looks up names and
 * connects (fsd/door), and the jobs that use it. A door that ends is replaced, and each
 * job then gets a new socket.
 *
 *   network_new -> network_open -> network_join ... network_leave -> network_free
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

struct handover;
struct ports_table;

/* handover: borrowed. Return: 0 or -ENOMEM. There is no policy yet. */
int network_new(struct handover *handover, struct network **ret);
void network_free(struct network *n); /* NULL: does nothing */

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
/* Returns whether a job of the user may have "ports"; without a policy every user may. */
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

#endif
