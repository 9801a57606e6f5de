/* SPDX-License-Identifier: Apache-2.0 */
/* The helper `fsd-net`: a process of its own without rights, between programs and the
 * second port. */
#ifndef GUEST_NET_HELPER_H
#define GUEST_NET_HELPER_H

#include "net_lookup.h"

#define NET_HELPER_ID 1001u
#define NET_HELPER_ADDRESS 0x7f000035u /* the address 127.0.0.53 */
#define NET_HELPER_PORT 53
/* Bytes that wait in a socket whose program does not read, beyond what the program's own
 * buffer takes. The buffer itself would grow to 256 KiB, and a hundred of them are the
 * helper's memory; to bound that makes each connection slow. */
#define NET_HELPER_UNSENT (32 << 10)

struct net_helper_fds {
	int port, listener, dns;
	int ready; /* a pipe: one byte when all rights are gone */
	int epoll; /* the helper's own */
	struct net_lookup_row *table; /* shared with the sk_lookup program */
};

/* Gives up all rights and serves until the machine ends. Return: what to exit with. */
int net_helper_main(struct net_helper_fds *fds);

#endif
