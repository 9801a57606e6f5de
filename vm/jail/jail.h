/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of the jailer: a process of its own that alone may make
 * jails. It is told numbers and descriptors, never a path or an argument, and
 * builds QEMU's command line itself (jail_wire.h). Its machines die with it,
 * and it ends when nobody has this side's socket any more: a process that is
 * given it goes on where the one before was killed.
 */
#ifndef VM_JAIL_H
#define VM_JAIL_H

#include "jail_wire.h"
#include "vm/os/loop.h"
#include "walls.h"

struct jail;

struct jail_options {
	const char *qemu;      /* its path */
	const char *image_dir; /* where a booted machine's kernel is */
	int kernel, initrd;    /* its files, as they were verified; borrowed */
	uint32_t uid_first, uid_count; /* 0: the default range */
	uint32_t most;         /* processes alive at once; more are refused */
	bool kvm;              /* machines may use /dev/kvm */
	bool strict;           /* a missing required wall is an error */
	const struct walls *known; /* not NULL: what an earlier jailer found;
				      this one is not waited for */
	void (*gone)(void *arg);   /* the jailer has ended, its machines end now */
	void *arg;
};

/* One machine's process; embedded in its owner, zeroed. */
struct jailed {
	/* It is reaped, or was never started (status 0, *err set). Once. */
	void (*ended)(struct jailed *m, int status, const struct err *err);
	/* After jailed_ask_cost(); may be NULL. */
	void (*cost)(struct jailed *m, uint64_t bytes);
	struct jail *jail; /* NULL when there is no process */
	struct list node;
	uint32_t id;
};

/*
 * Starts the jailer and waits until it has built the root of all jails and
 * proved the walls on a living QEMU (bounded, some 0.1 s). *ret_walls, which
 * outlives the jail, is what it found. With `known` that comes later, and one that finds less ends.
 * Return: 0, or a negative errno with what is missing and a remedy.
 */
int jail_open(struct loop *loop, const struct jail_options *options,
	      struct jail **ret, struct walls *ret_walls, struct err *err);
/* Every machine is killed, and the jailer waited for (bounded) if it is ours,
 * whoever else has the socket. NULL is fine. */
void jail_close(struct jail *j);
/* The same of one that was adopted, which is not waited for. */
void jail_leave(struct jail *j);
int jail_socket(const struct jail *j); /* borrowed */

/* The jailer of a process that is dead; sock is consumed. Nothing is started in
 * it. Return: 0 or negative errno. */
int jail_adopt(struct loop *loop, int sock, struct jail **ret);
/* One of its machines goes on; `ended` follows at once if it has ended. */
void jail_keep(struct jail *j, uint32_t id, struct jailed *m);
/* All that were not kept die. */
void jail_sweep(struct jail *j);
bool jail_is_empty(const struct jail *j);

/* fds as jail_fd in jail_wire.h says, all borrowed. `ended` is to be set. */
int jail_start(struct jail *j, const struct jail_request *what, const int *fds,
	       struct jailed *m, struct err *err);
/* Has the zygote give its next machines copies, at once, of the pages that m has
 * written since it was forked. Return: 0 or -EPIPE. */
int jailed_teach(struct jailed *m, uint32_t zygote);
/* Has its memory counted: `cost` tells the bytes that it shares with no other
 * process, 0 where /proc does not tell. Nothing follows if it ends before. */
void jailed_ask_cost(struct jailed *m);
void jailed_kill(struct jailed *m); /* `ended` follows */
/* Kills it; nothing follows. A no-op without a process. */
void jailed_drop(struct jailed *m);

#endif
