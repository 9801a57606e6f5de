/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What outlives a process: whoever is behind vm_keep has the sockets of its jailer
 * and of its machines, each by a key, and the next process has the jailers of those
 * before it until the last machine of each has ended. A machine's sockets are its
 * wire and its monitor: QEMU does not read what lies in a monitor's socket whose
 * other end has been closed, and a "cont" may lie there.
 */
#ifndef VM_LEFT_H
#define VM_LEFT_H

#include "vm/jail/jail.h"
#include "vm/channel/tape.h"
#include "vm/options.h"

struct left {
	struct loop *loop;
	const struct vm_keep *keep; /* borrowed; NULL: nothing outlives us */
	uint64_t key;      /* our own jailer's */
	uint64_t last_key; /* no other process has had one from key on */
	struct list jails;     /* owned: of dead processes */
	struct loop_call tidy; /* those without a machine end */
};

void left_init(struct left *l, struct loop *loop, const struct vm_keep *keep);
void left_done(struct left *l);

/* For the next process; what is given is borrowed. First our jailer's socket, */
void left_keep_jail(const struct left *l, int sock);
/* then what each of its machines is reached by, under new keys, */
void left_keep_machine(struct left *l, int wire, int monitor,
		       struct vm_keys *ret);
/* until that has ended, whosever it was. */
void left_drop_machine(const struct left *l, const struct vm_keys *keys);

/* sock, which is consumed, leads to the jailer of that key. It ends when
 * left_look() finds it empty. */
void left_add(struct left *l, uint64_t key, int sock);
struct jail *left_jail(struct left *l, uint64_t key); /* borrowed, or NULL */
/* Something of one of them has ended; looked at later. */
void left_look(struct left *l);
/* All that nobody goes on with dies. */
void left_sweep(struct left *l);

#endif
