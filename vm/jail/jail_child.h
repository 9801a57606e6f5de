/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a new process into its jail, up to the exec of QEMU. Each
 * function runs in that process, which has one thread only.
 */
#ifndef VM_JAIL_CHILD_H
#define VM_JAIL_CHILD_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail_cgroup.h"
#include "jail_wire.h"

/* Limits of a process, as numbers. */
struct jail_bounds {
	uid_t uid; /* user and group id; 0: unchanged */
	bool own_names; /* the process may set the host name of its UTS namespace */
	bool own_cgroup_ns; /* the process may make a cgroup namespace */
	unsigned files;          /* RLIMIT_NOFILE; 0: the usual number */
	uint64_t file_bytes;     /* RLIMIT_FSIZE */
	unsigned threads;        /* RLIMIT_NPROC, 0: not set */
	uint64_t address_bytes;  /* RLIMIT_AS, 0: not set */
};

/* All that the new process needs. The parent fills it in before the clone,
 * because the new process must not allocate memory. */
struct jail_child {
	const char *const *argv;
	int null; /* /dev/null, opened in the host's root */
	int fds[JAIL_FDS_MAX]; /* indexed by enum jail_fd; RAM is not passed on */
	unsigned fd_count;
	unsigned layers; /* how many of the last fds are layers */
	int status; /* a SOCK_SEQPACKET socket to the jailer */
	int landlock; /* a ruleset; -1: the kernel has no Landlock */
	int control; /* a zygote's control socket, else -1 */
	struct jail_groups groups; /* the child's own copy */
	struct jail_bounds bounds;
	struct sock_fprog filter;
};

/*
 * A message of the new process to the jailer. Without a descriptor: a step
 * failed. With the listener of its filter: it is about to execute QEMU. Then
 * its end of the socket closes: by exec, or, in a machine forked off a zygote,
 * when it is in its jail and has got its second byte.
 */
struct jail_word {
	uint32_t step; /* enum jail_step */
	int32_t code;  /* negative errno */
};

/* Waits for a byte on status, then enters the jail and executes QEMU. From its
 * first moment the process dies with its parent. Never returns. */
_Noreturn void jail_child_main(struct jail_child *c);

/* Names the host in the UTS namespace of this process. Return: 0 or -errno. */
int jail_child_set_names(void);

/*
 * As jail_child_main(), for a process that executes no program: returns when it is in its
 * jail, behind its filter. Its descriptors have the same numbers.
 */
void jail_child_stay(struct jail_child *c);

/* --- for machines that are forked, not executed (vm/zygote) ------------- */

/* Waits for a byte on status. Return: false if the jailer has ended. */
bool jail_child_may_go(const struct jail_child *c);
/*
 * If r < 0, reports the step and the error to the jailer and ends the process.
 */
void jail_child_must(const struct jail_child *c, uint32_t step, int r);
/* Joins the process to its control groups, where it can do so itself. Return: 0
 * or -errno. */
int jail_child_join(struct jail_groups *g);
/* Does all steps from the names to the filter, except the descriptors. Ends the
 * process if a step fails. */
void jail_child_enter(struct jail_child *c);

#endif
