/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the jailer and a zygote, over a SOCK_SEQPACKET pair: one
 * struct a message, in the host's byte order.
 *
 *   jailer -> zygote   struct zygote_setup, once, before QEMU begins
 *                      struct zygote_order, with ZYGOTE_ORDER_FDS descriptors
 *                      and those of the groups that the child joins by itself
 *                      struct zygote_pages, which replaces the last one
 *   zygote -> jailer   struct zygote_answer to each order; with a pidfd if it
 *                      has forked a process
 *
 * Both sides trust each other: a zygote runs only the programs of the
 * template's own heat, and it has no other peer.
 */
#ifndef VM_ZYGOTE_WIRE_H
#define VM_ZYGOTE_WIRE_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/jail/argv.h"
#include "vm/jail/jail_child.h"

/* Descriptor numbers of a zygote, after those of a restored machine. */
enum zygote_fd {
	ZYGOTE_FD_CONTROL = ARGV_FD_STATE + 1,
	/* a Landlock rule set for forked machines; only if the kernel has Landlock */
	ZYGOTE_FD_LANDLOCK,
};

/* The library that a zygote's QEMU loads; a path in the jails' root. */
#define ZYGOTE_LIBRARY "/fsd-zygote.so"
/* Names of the main thread, which tell a zygote from a machine. */
#define ZYGOTE_NAME "fsd-zygote"
#define ZYGOTE_MACHINE_NAME "qemu-system-x86"

#define ZYGOTE_FILTER_MAX 4096 /* BPF_MAXINSNS */

struct zygote_setup {
	uint32_t landlock; /* 1: ZYGOTE_FD_LANDLOCK is a ruleset */
	uint32_t filter_len;
	/* the filter of a forked machine */
	struct sock_filter filter[ZYGOTE_FILTER_MAX];
};

/* The descriptors of an order: standard error, monitor, second port, wire, status
 * socket of the child. */
enum zygote_order_fd {
	ZYGOTE_ORDER_ERR, ZYGOTE_ORDER_QMP, ZYGOTE_ORDER_NET, ZYGOTE_ORDER_WIRE,
	ZYGOTE_ORDER_STATUS, ZYGOTE_ORDER_FDS,
	ZYGOTE_ORDER_FDS_MAX = ZYGOTE_ORDER_FDS + CGROUP_TREES
};

enum zygote_what { ZYGOTE_ORDER = 1, ZYGOTE_PAGES };

struct zygote_order {
	uint32_t what; /* ZYGOTE_ORDER */
	/* 1: the child copies the known pages before it runs */
	uint32_t copies;
	uint64_t clone_flags;
	struct jail_bounds bounds;
};

#define ZYGOTE_RANGES_MAX 4096
#define ZYGOTE_PAGES_MAX 8192 /* 32 MiB */

struct zygote_range {
	uint64_t at, bytes; /* whole pages */
};

/* The pages that a machine of this zygote writes. A child copies them at once
 * if its order says `copies`. */
struct zygote_pages {
	uint32_t what;  /* ZYGOTE_PAGES */
	uint32_t count; /* number of ranges that follow */
	uint32_t pages; /* sum of pages over all ranges */
	struct zygote_range range[ZYGOTE_RANGES_MAX];
};

/* Returns how many bytes of the struct are sent. */
static inline size_t zygote_pages_size(const struct zygote_pages *p)
{
	return offsetof(struct zygote_pages, range) +
	       p->count * sizeof(p->range[0]);
}

struct zygote_answer {
	int32_t pid; /* < 0: a negative errno */
};

#endif
