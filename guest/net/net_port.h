/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper's end of the second port: frames in two buffers. Any number of frames may
 * wait in `out`, up to a bound; a caller that makes frames asks for room first.
 */
#ifndef GUEST_NET_PORT_H
#define GUEST_NET_PORT_H

#include "guest/wire/wire_net.h"

#define NET_PORT_OUT (256u << 10)
#define NET_PORT_IN (64u << 10)
#define NET_PORT_FULL (64u << 10)   /* bytes in `out` above which no DATA is added */
#define NET_PORT_STOPS (128u << 10) /* above which no frame is read that has an answer */

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

/* Reads what has come; `reads` falls when that was all. Return: 0, or -EPIPE: the host
 * has closed its end. */
int net_port_fill(struct net_port *p);
/* Takes the next complete frame. Return: 1; 0: there is none; or -EPROTO. */
int net_port_next(struct net_port *p, struct net_frame *ret);
/* Writes what the port takes now. Return: 0 or -EPIPE. */
int net_port_flush(struct net_port *p);
/* Adds a frame. Return: 0, or -ENOBUFS: the bound was passed, which is a mistake of the
 * caller. */
int net_port_put(struct net_port *p, const struct net_frame *f);
/* Returns the place for the WIRE_NET_DATA_MAX bytes of a DATA frame; NULL: more than
 * NET_PORT_STOPS bytes wait. The caller writes n bytes there, then adds the frame with
 * net_port_put_data(). */
uint8_t *net_port_room(struct net_port *p);
void net_port_put_data(struct net_port *p, uint32_t id, size_t n);

#endif
