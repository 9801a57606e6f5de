/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the jailer: its state, and its slots (struct jail_slot), one for
 * each living process. All functions run in the jailer, on its only thread.
 */
#ifndef VM_JAIL_SLOT_H
#define VM_JAIL_SLOT_H

#include <linux/filter.h>
#include <poll.h>
#include <stdbool.h>

#include "argv.h"
#include "jail_cgroup.h"
#include "jail_child.h"
#include "jail_wire.h"
#include "vm/os/uids.h"
#include "walls.h"

enum jailer_filter {
	FILTER_OF_RESTORE, FILTER_OF_BOOT, /* + 2 under KVM */
	FILTER_OF_ZYGOTE = 4, FILTER_OF_FORK, FILTER_OF_RELAY, FILTERS
};

struct jail_slot {
	pid_t pid; /* 0: the slot is free */
	uint32_t id;
	uint32_t kind;
	int pidfd;
	/* our end of the child's status socket; closed by its exec */
	int status;
	/* listener of its filter, until the RAM was handed over */
	int listener;
	int ram; /* owned until handed over to the child */
	int lease; /* descriptor with the lock of its user id */
	int control; /* a zygote's control socket, else -1 */
	bool kept; /* adopted: the next SWEEP does not kill it */
	struct jail_word word; /* code < 0: the step that failed */
};

struct jailer {
	int sock, null, landlock;
	int pages; /* socket of jail_pages_ask(); < 0: there is none */
	unsigned long clone_flags;
	bool cgroup_ns; /* the child makes its cgroup namespace itself, last */
	bool own_names; /* the child may name the host in its UTS namespace */
	const char *const *qemu; /* words that start QEMU (qemu_program.h) */
	const char *kernel, *initrd;
	struct uid_range uids;
	struct jail_cgroups cgroups;
	bool relays; /* relays may be started: jail_probe.c has found their walls */
	bool zygotes; /* the root has the files that zygotes load */
	bool strays; /* children without a slot may exist */
	struct sock_fprog filter[FILTERS]; /* indexed by filter_of() */
	struct jail_slot *slots;
	unsigned slot_count;
	unsigned most; /* processes that may live at once */
	struct pollfd *polls;
	unsigned poll_room;
};

/* Starts a process. Consumes fds. Return: its slot, or NULL with the failed
 * step in *word. */
struct jail_slot *jail_slot_start(struct jailer *j, const struct jail_request *q,
				  int *fds, unsigned fd_count, struct jail_word *word);
/* Handle an event of a process: jail_slot_heard() reads its status socket,
 * jail_slot_asked() its filter's listener. */
void jail_slot_heard(struct jail_slot *c);
void jail_slot_asked(struct jail_slot *c);
/* Reaps a process that has ended, and frees the slot. ret->code: as in
 * jail_answer. */
void jail_slot_reap(struct jailer *j, struct jail_slot *c, struct jail_answer *ret);
/*
 * Informs the zygote which pages c has written. Does nothing if either is gone
 * or the pages cannot be read: later machines then copy pages as they need
 * them.
 */
void jail_slot_teach(struct jailer *j, const struct jail_slot *c, uint32_t zygote);
/* Returns KiB of memory that c's process shares with no other, or a negative
 * errno. */
int32_t jail_slot_cost(struct jailer *j, const struct jail_slot *c);
/* Kills the slot's process. */
void jail_slot_kill(struct jail_slot *c);
/*
 * Reaps a process that a zygote forked without reporting it. It ends by itself.
 */
void slots_reap_stray(struct jailer *j);

#endif
