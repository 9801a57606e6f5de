/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes the second port for the helper. Frames that the port has not taken
 * yet wait in `out`, up to a bound. A caller that adds frames checks first, by
 * net_port_waiting(), that there is room.
 */
#ifndef GUEST_NET_PORT_H
#define GUEST_NET_PORT_H

#include "guest/wire/wire_net.h"

#define NET_PORT_OUT (256u << 10)
#define NET_PORT_IN (64u << 10)
#define NET_PORT_FULL (64u << 10)   /* bytes in `out` above which no DATA is added */
#define NET_PORT_STOPS (128u << 10) /* bytes in `out` above which the helper reads no
				     * frame and no query, as each may need an answer */

struct net_port {
	int fd; /* borrowed */
	bool reads; /* there may be bytes to read */
	size_t in_at, in_end, out_at, out_end;
	uint8_t in[NET_PORT_IN], out[NET_PORT_OUT];
};

static inline size_t net_port_waiting(const struct net_port *p)
{
	return p->out_end - p->out_at;
}

/* Reads from the port once; clears `reads` if there was nothing. Return: 0, or -EPIPE:
 * the host has closed its end. */
int net_port_fill(struct net_port *p);
/* Takes the next complete frame. Return: 1; 0: there is none; or -EPROTO. */
int net_port_next(struct net_port *p, struct net_frame *ret);
/* Writes what the port takes now. Return: 0 or -EPIPE. */
int net_port_flush(struct net_port *p);
/* Adds a frame. Return: 0, or -ENOBUFS: it does not fit; the caller should have
 * checked. */
int net_port_put(struct net_port *p, const struct net_frame *f);
/* Returns the place for the WIRE_NET_DATA_MAX bytes of a DATA frame. At most
 * NET_PORT_STOPS bytes may wait; the function does not check that. The caller writes n
 * bytes there, then adds the frame with net_port_put_data(). */
uint8_t *net_port_room(struct net_port *p);
void net_port_put_data(struct net_port *p, uint32_t id, size_t n);

#endif
