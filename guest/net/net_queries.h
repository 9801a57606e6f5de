/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries of programs that wait for the host's answer. Two queries for one name wait
 * for one answer: programs ask for IPv4 and IPv6 addresses at the same time. After 15
 * s, longer than a program's resolver waits, a query may lose its place to a new one.
 */
#ifndef GUEST_NET_QUERIES_H
#define GUEST_NET_QUERIES_H

#include <netinet/in.h>

#include "net_dns.h"

#define NET_QUERIES_MAX 256u
#define NET_QUERIES_WAIT_NS (15ull * 1000000000u)

struct net_query {
	uint32_t id; /* of RESOLVE; 0: the place is free */
	uint64_t since_ns;
	struct sockaddr_in from;
	struct net_dns_query dns;
	uint8_t bytes[NET_DNS_QUERY_MAX]; /* as they came: the answer repeats some */
};

struct net_queries {
	uint32_t last; /* id of the last RESOLVE */
	struct net_query place[NET_QUERIES_MAX];
};

/* Adds a query. *ret_asks: a RESOLVE with the returned id has to be sent. Return: the id,
 * or 0: all places are taken. */
uint32_t net_queries_add(struct net_queries *q, const struct net_dns_query *dns,
			 const uint8_t *bytes, const struct sockaddr_in *from,
			 uint64_t now_ns, bool *ret_asks);
/* Removes a query that waits for the answer with this id; id 0: for any answer. Return:
 * the query, valid until the next call; NULL: there is none. */
const struct net_query *net_queries_take(struct net_queries *q, uint32_t id);
/* Returns whether a RESOLVE had this id. */
bool net_queries_was(const struct net_queries *q, uint32_t id);

#endif
