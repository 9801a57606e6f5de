/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What outlives a process: whoever is behind vm_keep has the sockets of its jailer
 * and of its machines, each by a key, and the next process has the jailers of those
 * before it until the last machine of each has ended. A machine's sockets are its
 * wire and its monitor: QEMU does not read what lies in a monitor's socket whose
 * other end has been closed, and a "cont" may lie there.
 */
#ifndef VM_SURVIVORS_H
#define VM_SURVIVORS_H

#include "vm/jail/jail.h"
#include "vm/channel/replay.h"
#include "vm/options.h"

struct survivors {
	struct loop *loop;
	const struct vm_keep *keep; /* borrowed; NULL: nothing outlives us */
	uint64_t key;      /* our own jailer's */
	uint64_t last_key; /* no other process has had one from key on */
	struct list jails;     /* owned: of dead processes */
	struct loop_call tidy; /* those without a machine end */
};

void survivors_init(struct survivors *l, struct loop *loop, const struct vm_keep *keep);
void survivors_done(struct survivors *l);

/* For the next process; what is given is borrowed. First our jailer's socket, */
void survivors_keep_jail(const struct survivors *l, int sock);
/* then what each of its machines is reached by, under new keys, */
void survivors_keep_machine(struct survivors *l, int wire, int monitor,
			    struct vm_keys *ret);
/* until that has ended, whosever it was. */
void survivors_drop_machine(const struct survivors *l, const struct vm_keys *keys);

/* sock, which is consumed, leads to the jailer of that key. It ends when
 * survivors_check() finds it empty. */
void survivors_add(struct survivors *l, uint64_t key, int sock);
struct jail *survivors_jail(struct survivors *l, uint64_t key); /* borrowed, or NULL */
/* Something of one of them has ended; looked at later. */
void survivors_check(struct survivors *l);
/* All that nobody goes on with dies. */
void survivors_sweep(struct survivors *l);

#endif
