/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the networks of machines, and of their open streams, for the next server
 * after a kill. The key of a record names the job, session or sandbox of the machine
 * (PORTS_KEY() of fsd/network/ports.h). A wish is the JSON text of "network" in its
 * config. All functions run on the loop.
 */
#ifndef FSD_NETWORK_KEPT_H
#define FSD_NETWORK_KEPT_H

#include "fsd/handover/handover.h"
#include "layout/layout.h"
#include "vm/net/door_wire.h"

struct kept_network {
	uint32_t live;
	uint32_t adopted; /* the new server has found this record; 0 after its takeover */
	uint64_t key;
	uint64_t sent, received; /* so far */
	uint32_t no;      /* network_no(): number of its socket at the door */
	uint32_t which;   /* index of the valid wish; the other one is a draft */
	uint32_t wish_size[2]; /* 0: the machine has ports alone */
	char wish[2][DOOR_WISH_MAX];
};

struct kept_stream {
	uint32_t live;
	uint32_t number;
	uint64_t key;
	uint32_t port;
	char host[WIRE_NET_NAME_MAX + 1], address[64]; /* address "": none */
};

/* Makes a record. wish: text; NULL: none. Return: NULL if the table is full, or without
 * memory. */
struct kept_network *kept_network_add(struct handover *h, uint64_t key, const char *wish);
/* Replaces the wish. k NULL: no-op, as in the other functions below. */
void kept_network_wish(struct kept_network *k, const char *wish);
void kept_network_del(struct handover *h, struct kept_network *k);
/* Finds the record that an earlier server has made for key, and marks it as adopted.
 * Return: the record or NULL. */
struct kept_network *kept_network_find(struct handover *h, uint64_t key);
/* Return: the wish, borrowed, without a NUL. *ret_size 0: none. */
const char *kept_network_its_wish(const struct kept_network *k, size_t *ret_size);

/* Records an open stream. Return: NULL if the table is full. */
struct kept_stream *kept_stream_add(struct handover *h, uint64_t key, uint32_t number,
				    const struct result_connection *c);
void kept_stream_del(struct handover *h, struct kept_stream *k);
/* Return: the next stream of the key, its texts checked, from slot *at on; or NULL. */
struct kept_stream *kept_stream_next(struct handover *h, uint64_t key, uint32_t *at);

/* Call it after the last kept_network_find(): drops the records of networks that were not
 * found, and of their streams. */
void kept_networks_adopted(struct handover *h);

#endif
