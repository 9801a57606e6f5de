/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the queries that wait, in a fixed table. Pages of places that were never used
 * take no memory. Pure: no sockets.
 */
#include "net_queries.h"

#include <string.h>

static struct net_query *find_place(struct net_queries *q, uint64_t now_ns)
{
	for (unsigned i = 0; i < NET_QUERIES_MAX; i++)
		if (!q->place[i].id ||
		    now_ns - q->place[i].since_ns > NET_QUERIES_WAIT_NS)
			return &q->place[i];
	return NULL;
}

/* Returns the id of a query for the same name that waits; 0: none does. */
static uint32_t find_name(const struct net_queries *q, const char *name,
			  uint64_t now_ns)
{
	for (unsigned i = 0; i < NET_QUERIES_MAX; i++)
		if (q->place[i].id &&
		    now_ns - q->place[i].since_ns <= NET_QUERIES_WAIT_NS &&
		    !strcmp(q->place[i].dns.name, name))
			return q->place[i].id;
	return 0;
}

uint32_t net_queries_add(struct net_queries *q, const struct net_dns_query *dns,
			 const uint8_t *bytes, const struct sockaddr_in *from,
			 uint64_t now_ns, bool *ret_asks)
{
	uint32_t id = find_name(q, dns->name, now_ns);
	struct net_query *place = find_place(q, now_ns);

	*ret_asks = !id;
	if (!place || (!id && q->last == UINT32_MAX))
		return 0;
	place->id = id ? id : ++q->last;
	place->since_ns = now_ns;
	place->from = *from;
	place->dns = *dns;
	/* the answer needs the header and the question */
	memcpy(place->bytes, bytes, 12 + dns->question);
	return place->id;
}

const struct net_query *net_queries_take(struct net_queries *q, uint32_t id)
{
	for (unsigned i = 0; i < NET_QUERIES_MAX; i++) {
		struct net_query *place = &q->place[i];

		if (!place->id || (id && place->id != id))
			continue;
		place->id = 0;
		return place;
	}
	return NULL;
}

bool net_queries_was(const struct net_queries *q, uint32_t id)
{
	return id && id <= q->last;
}
