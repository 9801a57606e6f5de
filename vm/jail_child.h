/* SPDX-License-Identifier: Apache-2.0 */
/* A new process's way down into its jail, to the point where it is QEMU. */
#ifndef VM_JAIL_CHILD_H
#define VM_JAIL_CHILD_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail_wire.h"

/* All of it is made before the process is: it allocates nothing. */
struct jail_child {
	const char *const *argv;
	int null;                /* /dev/null, opened outside */
	int fds[JAIL_FDS_MAX];   /* enum jail_fd; RAM is not passed */
	unsigned fd_count;
	int status;              /* SOCK_SEQPACKET to the jailer */
	uid_t uid;               /* also the group; 0: as it is */
	bool own_uts;            /* its host name is its own to set */
	bool own_cgroup_ns;      /* it can have one */
	int landlock;            /* ruleset, -1: the kernel has none */
	uint64_t file_bytes;     /* RLIMIT_FSIZE */
	unsigned threads;        /* RLIMIT_NPROC, 0: not set */
	uint64_t address_bytes;  /* RLIMIT_AS, 0: not set */
	struct sock_fprog filter;
};

/*
 * What a child says on its socket: one message without a descriptor when a
 * step failed; one with the filter's listener when it is about to be QEMU;
 * then its end of the socket closes, by exec.
 */
struct jail_word {
	uint32_t step; /* enum jail_step */
	int32_t code;  /* negative errno */
};

/* Waits for a byte on status, then goes down; ends with its parent from the
 * first moment on. Never returns. */
_Noreturn void jail_child_main(struct jail_child *c);

#endif
