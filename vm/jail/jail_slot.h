/* SPDX-License-Identifier: Apache-2.0 */
/* The jailer's inside: what it is, and its cells, one living process each. */
#ifndef VM_JAIL_SLOT_H
#define VM_JAIL_SLOT_H

#include <linux/filter.h>
#include <poll.h>
#include <stdbool.h>

#include "argv.h"
#include "jail_cgroup.h"
#include "jail_child.h"
#include "jail_wire.h"
#include "walls.h"

enum jailer_filter {
	FILTER_OF_RESTORE, FILTER_OF_BOOT, /* + 2 under KVM */
	FILTER_OF_ZYGOTE = 4, FILTER_OF_FORK, FILTERS
};

struct jail_slot {
	pid_t pid;      /* 0: free */
	uint32_t id;
	uint32_t kind;
	int pidfd;
	int status;     /* our end of the child's socket, until exec */
	int listener;   /* of its filter, until RAM is given */
	int ram;        /* owned until it is given */
	int lease;      /* lock of its user id */
	int control;    /* of a zygote, else -1 */
	bool kept;      /* the next SWEEP passes it by */
	struct jail_word word; /* code < 0: a step failed */
};

struct uid_range {
	uint32_t first, count, next;
	int dir; /* of lock files; -1: ids are not changed */
};

struct jailer {
	int sock, null, landlock;
	int pages; /* a socket: jail_pages_ask(); < 0: there is none */
	unsigned long clone_flags;
	bool cgroup_ns; /* by the child itself, after the rest */
	const char *const *qemu; /* the words that start it (qemu_program.h) */
	const char *kernel, *initrd;
	struct uid_range uids;
	struct jail_cgroups cgroups;
	bool zygotes;   /* the root has what they load */
	bool strays;    /* there may be children that are in no cell */
	struct sock_fprog filter[FILTERS]; /* by filter_of() */
	struct jail_slot *slots;
	unsigned slot_count;
	unsigned most;  /* of them may live at once */
	struct pollfd *polls;
	unsigned poll_room;
};

/* fds are consumed. Return: the cell, or NULL with what failed in *word. */
struct jail_slot *jail_slot_start(struct jailer *j, const struct jail_request *q,
				  int *fds, unsigned fd_count, struct jail_word *word);
/* Something is to be read from its status or its listener. */
void jail_slot_heard(struct jail_slot *c);
void jail_slot_asked(struct jail_slot *c);
/* Its process has ended; frees the cell. *ret_code as in jail_answer. */
void jail_slot_reap(struct jailer *j, struct jail_slot *c, struct jail_answer *ret);
/* Tells the zygote which pages c has written. Without either of them, or when
 * that cannot be read, its children do without. */
void jail_slot_teach(struct jailer *j, const struct jail_slot *c, uint32_t zygote);
/* KiB of memory that its process shares with no other, or a negative errno. */
int32_t jail_slot_cost(struct jailer *j, const struct jail_slot *c);
/* Kills it. */
void jail_slot_kill(struct jail_slot *c);
/* Reaps one that a zygote made and did not tell of; it ends by itself. */
void slots_reap_stray(struct jailer *j);

#endif
