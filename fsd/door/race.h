/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses in the kernel's form. Pure. */
#ifndef FSD_DOOR_RACE_H
#define FSD_DOOR_RACE_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "layout/network/address.h"

union socket_address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
};

/* Return: its size. */
socklen_t socket_address_of(const struct net_address *a, unsigned port,
			    union socket_address *ret);
void socket_address_read(const union socket_address *s, struct net_address *ret);

#endif
