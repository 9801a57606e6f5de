/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the jailer and a zygote say to each other, over a SOCK_SEQPACKET pair:
 * one struct a message, in the host's order.
 *
 *   jailer -> zygote   struct zygote_setup, once, before QEMU begins
 *                      struct zygote_order, with ZYGOTE_ORDER_FDS descriptors
 *                      and those of the groups that the child joins by itself
 *                      struct zygote_pages, which takes the last one's place
 *   zygote -> jailer   struct zygote_answer to each order; when it is a
 *                      process, with a pidfd
 *
 * Both sides are ours: a zygote runs no program but those of the template's
 * own heat, and it has no other peer.
 */
#ifndef VM_ZYGOTE_WIRE_H
#define VM_ZYGOTE_WIRE_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/jail/argv.h"
#include "vm/jail/jail_child.h"

/* The zygote's own descriptors, after those of a restored machine. */
enum zygote_fd {
	ZYGOTE_FD_CONTROL = ARGV_FD_STATE + 1,
	ZYGOTE_FD_LANDLOCK, /* its children's, where the kernel has it */
};

/* What QEMU is made to load; the library's place in the jails' root. */
#define ZYGOTE_LIBRARY "/fsd-zygote.so"
/* By this name of its main thread a zygote is told from a machine. */
#define ZYGOTE_NAME "fsd-zygote"
#define ZYGOTE_MACHINE_NAME "qemu-system-x86"

#define ZYGOTE_FILTER_MAX 4096 /* BPF_MAXINSNS */

struct zygote_setup {
	uint32_t landlock; /* 1: ZYGOTE_FD_LANDLOCK is a ruleset */
	uint32_t filter_len;
	struct sock_filter filter[ZYGOTE_FILTER_MAX]; /* a child's */
};

/* With an order: standard error, monitor, wire, the child's status socket. */
enum zygote_order_fd {
	ZYGOTE_ORDER_ERR, ZYGOTE_ORDER_QMP, ZYGOTE_ORDER_WIRE,
	ZYGOTE_ORDER_STATUS, ZYGOTE_ORDER_FDS,
	ZYGOTE_ORDER_FDS_MAX = ZYGOTE_ORDER_FDS + CGROUP_TREES
};

enum zygote_what { ZYGOTE_ORDER = 1, ZYGOTE_PAGES };

struct zygote_order {
	uint32_t what; /* ZYGOTE_ORDER */
	uint32_t copies; /* 1: of the pages that it will write, at once */
	uint64_t clone_flags;
	struct jail_bounds bounds;
};

#define ZYGOTE_RANGES_MAX 4096
#define ZYGOTE_PAGES_MAX 8192 /* 32 MiB */

struct zygote_range {
	uint64_t at, bytes; /* whole pages */
};

/* What a child will write: one whose order says so copies it before it runs. */
struct zygote_pages {
	uint32_t what;  /* ZYGOTE_PAGES */
	uint32_t count; /* of the ranges that follow */
	uint32_t pages; /* in all of them */
	struct zygote_range range[ZYGOTE_RANGES_MAX];
};

/* What of it is sent. */
static inline size_t zygote_pages_size(const struct zygote_pages *p)
{
	return offsetof(struct zygote_pages, range) +
	       p->count * sizeof(p->range[0]);
}

struct zygote_answer {
	int32_t pid; /* < 0: a negative errno */
};

#endif
