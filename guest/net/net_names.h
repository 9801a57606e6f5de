/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of a machine that stand for names: row i of the table is the address
 * 198.18.1.0 + i. A row keeps its name for as long as programs may remember the address.
 * Pure but for its memory; not thread-safe.
 */
#ifndef GUEST_NET_NAMES_H
#define GUEST_NET_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "layout/base/host_name.h"

#define NET_NAMES_FIRST 0xc6120100u /* the address 198.18.1.0 */
/* A row gets another name when it had no query and no open stream for so long. */
#define NET_NAMES_KEPT_NS (600ull * 1000000000u)

struct net_name {
	uint32_t hash, streams; /* streams: number of open streams */
	uint64_t used_ns;       /* time of the last query, or of the end of the last
				 * stream */
	char name[HOST_NAME_MAX_LEN + 1]; /* "": the row is free */
};

struct net_names {
	unsigned most;
	struct net_name *row; /* owned; NULL: there is none yet */
};

/* Return: 0 or -ENOMEM. Pages of rows that were never used take no memory. */
int net_names_open(struct net_names *n, unsigned most);
void net_names_done(struct net_names *n);

/* Finds a name's row; name: as host_name_read() returns it. Return: the row, or
 * -ENOENT. */
int net_names_find(const struct net_names *n, const char *name);
/*
 * Gives a name a row: its own, a free one, or the one that was not used for longest.
 * *ret_new: the row has had another name or none. Return: the row, or -EAGAIN: each is in
 * use.
 */
int net_names_take(struct net_names *n, const char *name, uint64_t now_ns, bool *ret_new);
/* Returns the row of an address; -ENOENT: the address stands for no name. */
int net_names_at(const struct net_names *n, uint32_t address);

#endif
