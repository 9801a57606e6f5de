/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of networks and streams. This file owns both tables. A record that another
 * server has written is not trusted: that server may have been compromised.
 */
#include "network_kept.h"

#include <string.h>

static HANDOVER_TABLE(network_records, "networks", 1, struct kept_network, 2048,
		      .zeroed = offsetof(struct kept_network, wish));
static HANDOVER_TABLE(stream_records, "net-streams", 1, struct kept_stream, 1u << 16);

/* --- networks ----------------------------------------------------------------------- */

void kept_network_wish(struct kept_network *k, const char *wish)
{
	size_t size = wish ? strlen(wish) : 0;
	uint32_t draft = k ? !k->which : 0;

	if (!k || size > sizeof(k->wish[0]))
		return;
	memcpy(k->wish[draft], wish ? wish : "", size);
	k->wish_size[draft] = (uint32_t)size;
	__atomic_store_n(&k->which, draft, __ATOMIC_RELEASE);
}

struct kept_network *kept_network_add(struct handover *h, uint64_t key, const char *wish)
{
	uint32_t slot;
	struct kept_network *k = handover_add(h, &network_records, &slot);

	if (!k)
		return NULL;
	k->key = key;
	kept_network_wish(k, wish);
	handover_publish(&k->live);
	return k;
}

void kept_network_del(struct handover *h, struct kept_network *k)
{
	if (k)
		handover_del(h, &network_records, k);
}

static struct kept_network *find(struct handover *h, uint64_t key)
{
	struct kept_network *k;

	for (uint32_t i = 0; (k = handover_next(h, &network_records, &i)); )
		if (k->key == key)
			return k;
	return NULL;
}

struct kept_network *kept_network_find(struct handover *h, uint64_t key)
{
	struct kept_network *k = find(h, key);

	if (k)
		k->adopted = 1;
	return k;
}

const char *kept_network_its_wish(const struct kept_network *k, size_t *ret_size)
{
	uint32_t which = k->which & 1;

	*ret_size = MIN(k->wish_size[which], sizeof(k->wish[0]));
	return k->wish[which];
}

/* --- streams ------------------------------------------------------------------------ */

struct kept_stream *kept_stream_add(struct handover *h, uint64_t key, uint32_t number,
				    const struct result_connection *c)
{
	uint32_t slot;
	struct kept_stream *k = handover_add(h, &stream_records, &slot);

	if (!k)
		return NULL;
	k->key = key;
	k->number = number;
	k->port = c->port;
	snprintf(k->host, sizeof(k->host), "%s", c->host);
	snprintf(k->address, sizeof(k->address), "%s", c->address ? c->address : "");
	handover_publish(&k->live);
	return k;
}

void kept_stream_del(struct handover *h, struct kept_stream *k)
{
	if (k)
		handover_del(h, &stream_records, k);
}

struct kept_stream *kept_stream_next(struct handover *h, uint64_t key, uint32_t *at)
{
	struct kept_stream *k;

	while ((k = handover_next(h, &stream_records, at)))
		if (k->key == key && k->number) {
			utf8_recover(k->host, sizeof(k->host));
			utf8_recover(k->address, sizeof(k->address));
			return k;
		}
	return NULL;
}

/* --- the end of a takeover ---------------------------------------------------------- */

void kept_networks_adopted(struct handover *h)
{
	struct kept_network *k;
	struct kept_stream *s;

	for (uint32_t i = 0; (k = handover_next(h, &network_records, &i)); ) {
		k->live = k->adopted != 0;
		k->adopted = 0;
	}
	for (uint32_t i = 0; (s = handover_next(h, &stream_records, &i)); )
		if (!find(h, s->key))
			s->live = 0;
	handover_recycle(h, &network_records);
	handover_recycle(h, &stream_records);
}
