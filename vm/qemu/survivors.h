/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines and jailers that outlive this process. The supervisor stores, by
 * vm_keep and each under a key, the sockets of this server's jailer and of its
 * machines. The next server gets them, and keeps the jailers of dead servers
 * until the last machine of each has ended.
 *
 * A machine's sockets are its wire, its monitor and the account of its relay, if it
 * has one. The monitor must stay open: QEMU does not read what lies in a monitor's
 * socket once its other end is closed, and a "cont" may lie there. All functions run
 * on the loop.
 */
#ifndef VM_SURVIVORS_H
#define VM_SURVIVORS_H

#include "vm/jail/jail.h"
#include "vm/channel/replay.h"
#include "vm/options.h"

struct survivors {
	struct loop *loop;
	/* borrowed; NULL: machines end with this process */
	const struct vm_keep *keep;
	uint64_t key; /* key of this server's jailer */
	/* largest key given so far; keys of other processes are smaller */
	uint64_t last_key;
	struct list jails; /* owned: jailers of dead servers */
	struct loop_call tidy; /* frees jailers without machines */
};

void survivors_init(struct survivors *l, struct loop *loop, const struct vm_keep *keep);
void survivors_done(struct survivors *l);

/* Stores the socket of this server's jailer. sock is borrowed. */
void survivors_keep_jail(const struct survivors *l, int sock);
/* Stores the sockets of a machine under new keys, returned in ret. Both are
 * borrowed. */
void survivors_keep_machine(struct survivors *l, int wire, int monitor,
			    struct vm_keys *ret);
/* Stores the account of the machine's relay. account: borrowed. */
void survivors_keep_account(struct survivors *l, int account, struct vm_keys *keys);
/*
 * Removes the sockets of a machine that has ended, whatever server stored them.
 */
void survivors_drop_machine(const struct survivors *l, const struct vm_keys *keys);

/* Takes over the jailer whose socket was stored under key. Consumes sock.
 * survivors_check() frees the jailer once it has no machine. */
void survivors_add(struct survivors *l, uint64_t key, int sock);
/* Finds the jailer of a key; borrowed, or NULL. */
struct jail *survivors_jail(struct survivors *l, uint64_t key);
/* Call it when a machine or a jailer has ended: schedules the check for jailers
 * without machines. */
void survivors_check(struct survivors *l);
/* Kills all machines that were not adopted. */
void survivors_sweep(struct survivors *l);

#endif
