/* SPDX-License-Identifier: Apache-2.0 */
/* A new process's way down into its jail, to the point where it is QEMU. */
#ifndef VM_JAIL_CHILD_H
#define VM_JAIL_CHILD_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail_cgroup.h"
#include "jail_wire.h"

/* What bounds a process, as numbers. */
struct jail_bounds {
	uid_t uid;               /* also the group; 0: as it is */
	bool own_uts;            /* its host name is its own to set */
	bool own_cgroup_ns;      /* it can have one */
	uint64_t file_bytes;     /* RLIMIT_FSIZE */
	unsigned threads;        /* RLIMIT_NPROC, 0: not set */
	uint64_t address_bytes;  /* RLIMIT_AS, 0: not set */
};

/* All of it is made before the process is: it allocates nothing. */
struct jail_child {
	const char *const *argv;
	int null;                /* /dev/null, opened outside */
	int fds[JAIL_FDS_MAX];   /* enum jail_fd; RAM is not passed */
	unsigned fd_count;
	unsigned layers;         /* the last of them */
	int status;              /* SOCK_SEQPACKET to the jailer */
	int landlock;            /* ruleset, -1: the kernel has none */
	int control;             /* of a zygote, else -1 */
	struct jail_groups groups; /* the child's own copy */
	struct jail_bounds bounds;
	struct sock_fprog filter;
};

/*
 * What a child says on its socket: one message without a descriptor when a
 * step failed; one with the filter's listener when it is about to be QEMU;
 * then its end of the socket closes: by exec, or, of a zygote's child, when it
 * is in its jail and waits for a second byte.
 */
struct jail_word {
	uint32_t step; /* enum jail_step */
	int32_t code;  /* negative errno */
};

/* Waits for a byte on status, then goes down; ends with its parent from the
 * first moment on. Never returns. */
_Noreturn void jail_child_main(struct jail_child *c);

/* --- for who is not executed but forked (vm/zygote) ------------------------- */

/* Waits for a byte on status. Return: false if the jailer has gone. */
bool jail_child_may_go(const struct jail_child *c);
/* Ends the process, with the step and its error told, if r is one. */
void jail_child_must(const struct jail_child *c, uint32_t step, int r);
/* Into its control groups, by itself where it can. Return: 0 or -errno. */
int jail_child_join(struct jail_groups *g);
/* From its names to its filter, all but its descriptors; ends the process when
 * a step fails. */
void jail_child_enter(struct jail_child *c);

#endif
