/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and routes of the loopback device, by rtnetlink(7), as PID 1. */
#ifndef GUEST_NET_ROUTE_H
#define GUEST_NET_ROUTE_H

#include "guest/wire/wire_network.h"

/* Gives lo 198.18.0.1/15. Twice is as good as once. Return: 0 or a negative errno. */
int net_route_own_address(void);
/* Gives lo that address and takes it away: the emulator has translated the kernel's code
 * then, 15 ms of a job with a network. lo must not have it. Return: 0; negative errno: lo
 * may have it. */
int net_route_heat(void);
/* Makes a block local: programs that connect to an address of it reach the helper. Twice
 * is as good as once. Return: 0 or a negative errno. */
int net_route_local(const struct wire_route *block);

#endif
