/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one DNS query and writes its answer (RFC 1035), for a resolver at 127.0.0.53
 * that has one IPv4 address for each name. Pure: no sockets, no memory of queries.
 */
#ifndef GUEST_NET_DNS_H
#define GUEST_NET_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/host_name.h"

#define NET_DNS_QUERY_MAX 512u
/* Most bytes of an answer: the query's, and a record with a name. */
#define NET_DNS_ANSWER_MAX (NET_DNS_QUERY_MAX + 12 + 256)
#define NET_DNS_TTL 60u

/* RCODE of an answer. */
enum net_dns_code {
	NET_DNS_OK = 0,
	NET_DNS_FORMERR = 1,  /* the message is no valid query */
	NET_DNS_SERVFAIL = 2, /* try again */
	NET_DNS_NXDOMAIN = 3, /* the name does not exist */
	NET_DNS_NOTIMP = 4,   /* the operation is not a query */
};

enum net_dns_asks {
	NET_DNS_ADDRESS, /* an IPv4 address */
	NET_DNS_REVERSE, /* the name that belongs to an IPv4 address */
	NET_DNS_OTHER,   /* anything else: the answer has no record, even if the name
			  * exists */
};

struct net_dns_query {
	enum net_dns_code code; /* not OK: reply with this code at once */
	enum net_dns_asks asks;
	char name[HOST_NAME_MAX_LEN + 1]; /* the name, normalised by host_name_read() */
	uint32_t address;                 /* of a REVERSE query; 10.0.0.5 is 0x0a000005 */
	size_t question;                  /* bytes of the question; 0: none was read */
};

/*
 * Reads the query in a datagram. If host_name_read() refuses the name, the code is
 * NXDOMAIN. EDNS is ignored. Return: 0; or -EBADMSG: do not answer. The datagram is too
 * short, or is itself an answer: two resolvers must not answer each other for ever.
 */
int net_dns_read(const uint8_t *bytes, size_t size, struct net_dns_query *ret);

/*
 * Writes the answer to a query; bytes: the datagram that it was read from. With
 * NET_DNS_OK the answer has `address` for an ADDRESS query, and for a REVERSE query
 * `name`, which host_name_read() has accepted. Return: the answer's size.
 */
size_t net_dns_write(const struct net_dns_query *query, const uint8_t *bytes,
		     enum net_dns_code code, uint32_t address, const char *name,
		     uint8_t ret[NET_DNS_ANSWER_MAX]);

#endif
