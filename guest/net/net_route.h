/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and routes of the loopback device, by rtnetlink(7), as PID 1. */
#ifndef GUEST_NET_ROUTE_H
#define GUEST_NET_ROUTE_H

#include "guest/wire/wire_network.h"

/* Gives lo the address 198.18.0.1/15, if it does not have it. Return: 0 or a negative
 * errno. */
int net_route_own_address(void);
/* Gives lo that address and takes it away, so that the emulator has translated this
 * code of the kernel: a job with a network saves 15 ms. Call it only if lo does not
 * have the address. Return: 0; negative errno: lo may have it. */
int net_route_heat(void);
/* Routes a block of addresses to lo: a program's connection to one of them then reaches
 * the helper. May be repeated. Return: 0 or a negative errno. */
int net_route_local(const struct wire_route *block);

#endif
