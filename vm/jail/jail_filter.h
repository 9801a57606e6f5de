/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outer system call filter of a QEMU: a list of what it may do. Everything
 * else kills the process. It is set before QEMU is executed, so the first part
 * of the list is the dynamic loader's and start-up's; QEMU's own -sandbox then
 * takes execve and its like away again. A machine that is forked off a zygote
 * has started already: its list has none of that, and stands on the zygote's.
 */
#ifndef VM_JAIL_FILTER_H
#define VM_JAIL_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout/base/err.h"

/* For which machines a row is. */
enum {
	FILTER_TCG = 1, FILTER_KVM = 2,       /* accelerator, */
	FILTER_BOOT = 4, FILTER_RESTORE = 8,  /* kind: a row names both */
	FILTER_RARE = 16, /* not seen in every run: errors, other libraries */
	FILTER_FORK = 32, /* kind: a zygote's child, which starts nothing */
	FILTER_FORK_RARE = 128, /* as RARE, of those */
	FILTER_ZYGOTE = 64, /* kind: a restored one that makes children */
	FILTER_ALL = FILTER_TCG | FILTER_KVM | FILTER_BOOT | FILTER_RESTORE,
};

enum filter_action {
	FILTER_ALLOW,
	FILTER_REFUSE, /* with errno: asked as a probe, and not needed */
	FILTER_ASK,    /* the jailer gives a descriptor instead */
};

struct filter_row {
	int call;          /* __NR_ */
	const char *name;
	unsigned where;    /* FILTER_ bits */
	enum filter_action action;
	int code;          /* REFUSE: errno; ALLOW: bits of the argument after
			      arg, not to be set */
	int8_t arg;        /* -1: any arguments; else this one, */
	uint64_t mask, value; /* masked, must have the value */
	const char *why;
};

extern const struct filter_row filter_rows[];
extern const unsigned filter_row_count;

/*
 * The program for machines of these bits (one accelerator, one kind), for
 * seccomp(2). *ret is the caller's to free. Return: 0 or negative errno.
 */
int jail_filter_make(unsigned where, struct sock_fprog *ret, struct err *err);

#endif
