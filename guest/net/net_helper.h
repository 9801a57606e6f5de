/* SPDX-License-Identifier: Apache-2.0 */
/* The helper `fsd-net`: a process without rights that moves bytes between programs and
 * the second port. */
#ifndef GUEST_NET_HELPER_H
#define GUEST_NET_HELPER_H

#include "net_lookup.h"

#define NET_HELPER_ID 1001u
#define NET_HELPER_ADDRESS 0x7f000035u /* the address 127.0.0.53 */
#define NET_HELPER_PORT 53
/* TCP_NOTSENT_LOWAT of the helper's sockets: bytes that may wait unsent if a program
 * does not read. Otherwise a send buffer would grow to 256 KiB, and a hundred of them
 * would use up the helper's memory limit; a smaller send buffer makes each connection
 * slow. */
#define NET_HELPER_UNSENT (32 << 10)

struct net_helper_fds {
	int port, listener, dns;
	int ready; /* a pipe: one byte when all rights are gone */
	int epoll; /* net_helper_main() makes it */
	struct net_lookup_row *table; /* shared with the sk_lookup program */
};

/* Gives up all rights and serves until the machine ends. Return: the exit code of the
 * process. */
int net_helper_main(struct net_helper_fds *fds);

#endif
