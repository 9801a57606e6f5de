/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call sends one rtnetlink request, on a socket of its own: there are few calls.
 *
 * A route gets a preferred source. Without one the kernel takes the destination as the
 * source, and a connection to a port of the ephemeral range can then connect to itself.
 */
#include "net_route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "net_lookup.h"

#define LOOPBACK 1 /* the index of lo in each machine */
#define OWN_ADDRESS (NET_LOOKUP_NET + 1)
#define OWN_BITS 15
#define IP4_OFFSET 12 /* of an IPv4 address in `first` */
#define IP4_BITS 96

struct request {
	struct nlmsghdr head;
	union {
		struct ifaddrmsg address;
		struct rtmsg route;
	};
	uint8_t attributes[128];
};

/* size: bytes of the struct behind the header, ifaddrmsg or rtmsg. */
static void begin(struct request *q, uint16_t type, uint16_t flags, size_t size)
{
	q->head.nlmsg_type = type;
	q->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | flags);
	q->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
}

static void add(struct request *q, uint16_t type, const void *data, size_t size)
{
	struct rtattr *a = (struct rtattr *)(void *)
		((uint8_t *)q + NLMSG_ALIGN(q->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(size);
	memcpy(RTA_DATA(a), data, size);
	q->head.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->head.nlmsg_len) + RTA_ALIGN(a->rta_len));
}

/* Sends a request and reads the answer. Return: 0, or the kernel's negative errno. */
static int perform(const struct request *q)
{
	auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		uint8_t rest[256];
	} reply;
	ssize_t n;

	if (fd < 0 || send(fd, q, q->head.nlmsg_len, 0) < 0)
		return -errno;
	n = recv(fd, &reply, sizeof(reply), 0);
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(reply.head) + sizeof(reply.error) ||
	    reply.head.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return reply.error.error;
}

/* type: RTM_NEWADDR or RTM_DELADDR. */
static int own_address(uint16_t type)
{
	struct request q = { .address = { .ifa_family = AF_INET,
					  .ifa_prefixlen = OWN_BITS,
					  .ifa_scope = RT_SCOPE_HOST,
					  .ifa_index = LOOPBACK } };
	uint32_t own = htonl(OWN_ADDRESS);

	begin(&q, type, NLM_F_REPLACE, sizeof(q.address));
	add(&q, IFA_LOCAL, &own, sizeof(own));
	add(&q, IFA_ADDRESS, &own, sizeof(own));
	return perform(&q);
}

int net_route_own_address(void)
{
	return own_address(RTM_NEWADDR);
}

int net_route_heat(void)
{
	int r = own_address(RTM_NEWADDR);

	return r ? r : own_address(RTM_DELADDR);
}

int net_route_local(const struct wire_route *block)
{
	struct request q = { .route = { .rtm_family = block->ip6 ? AF_INET6 : AF_INET,
					.rtm_table = RT_TABLE_LOCAL,
					.rtm_protocol = RTPROT_STATIC,
					.rtm_scope = RT_SCOPE_HOST,
					.rtm_type = RTN_LOCAL } };
	const struct in6_addr own6 = IN6ADDR_LOOPBACK_INIT;
	uint32_t own4 = htonl(OWN_ADDRESS), device = LOOPBACK;
	size_t offset = block->ip6 ? 0 : IP4_OFFSET;

	q.route.rtm_dst_len = (uint8_t)(block->bits - (block->ip6 ? 0 : IP4_BITS));
	begin(&q, RTM_NEWROUTE, NLM_F_REPLACE, sizeof(q.route));
	add(&q, RTA_DST, block->first + offset, sizeof(block->first) - offset);
	add(&q, RTA_OIF, &device, sizeof(device));
	if (block->ip6)
		add(&q, RTA_PREFSRC, &own6, sizeof(own6));
	else
		add(&q, RTA_PREFSRC, &own4, sizeof(own4));
	return perform(&q);
}
