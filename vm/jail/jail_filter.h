/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMU's outer system call filter: a list of permitted calls. Any other call
 * kills the process. It is installed before QEMU is executed, so the list also
 * has the calls of the dynamic loader and of QEMU's start. QEMU's own -sandbox
 * then forbids execve and similar calls. A machine forked off a zygote has
 * started already, so its list is shorter; the zygote's filter stays active
 * above it.
 */
#ifndef VM_JAIL_FILTER_H
#define VM_JAIL_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout/base/err.h"

/* The machines that a row is for. */
enum {
	FILTER_TCG = 1, FILTER_KVM = 2, /* the accelerator: a row names one or both */
	/* the kind of machine: a row names one or both */
	FILTER_BOOT = 4, FILTER_RESTORE = 8,
	FILTER_RARE = 16, /* the call does not happen in every run: errors, other
			   * libraries */
	FILTER_FORK = 32, /* kind: forked off a zygote; starts no program */
	FILTER_FORK_RARE = 128, /* the same for forked machines */
	FILTER_ZYGOTE = 64, /* kind: a restored machine that is forked */
	/* kind: a machine's relay. Its rows name FILTER_TCG too, as each filter is made
	 * for one accelerator. */
	FILTER_RELAY = 256,
	FILTER_ALL = FILTER_TCG | FILTER_KVM | FILTER_BOOT | FILTER_RESTORE,
};

enum filter_action {
	FILTER_ALLOW,
	/* fails with an errno: a probe whose result is not needed */
	FILTER_REFUSE,
	FILTER_ASK, /* the jailer answers with a descriptor */
};

struct filter_row {
	int call;          /* __NR_ */
	const char *name;
	unsigned where;    /* FILTER_ bits */
	enum filter_action action;
	/* FILTER_REFUSE: the errno. FILTER_ALLOW: bits that the argument after
	 * `arg` must not have. */
	int code;
	int8_t arg; /* index of the argument to check; -1: none */
	uint64_t mask, value; /* (argument & mask) must equal value */
	const char *why;
};

extern const struct filter_row filter_rows[];
extern const unsigned filter_row_count;

/*
 * Compiles the filter for seccomp(2), for machines of these bits (one
 * accelerator, one kind). The caller frees ret->filter. Return: 0 or negative
 * errno.
 */
int jail_filter_make(unsigned where, struct sock_fprog *ret, struct err *err);

#endif
