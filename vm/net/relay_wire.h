/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the server and the relay of one machine: the relay's account. They go
 * over a SOCK_SEQPACKET pair of one host: one struct a message, in the host's byte order.
 *
 *   server -> relay   START   first of all, once: limits
 *                     DOOR    with the relay's end of a door's socket; it replaces the
 *                             last one, and the new door checks each open stream
 *                     PORT    with a listener, whose connections go to that port
 *                     CLOSE   closes that listener
 *                     FINISH  the program has ended: deliver what is under way
 *   relay -> server   READY   it has sent START to the guest
 *                     ENDED   one stream: bytes, time, reason
 *                     TOTAL   bytes so far, at most each 250 ms
 *                     FINISHED
 *                     NOTE    a sentence for the log: a limit slows the program
 *                     BROKE   the guest broke the protocol; the relay ends
 *
 * The relay never waits for the server: it drops an ENDED that finds no room, and says
 * the totals again. Neither side trusts a message: relay_*_check() reads every field.
 * Pure: any thread.
 */
#ifndef VM_NET_RELAY_WIRE_H
#define VM_NET_RELAY_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "door_wire.h"

#define RELAY_VERSION 1u
#define RELAY_TEXT_MAX 320u /* a server name of 253 bytes, and words around it */
#define RELAY_CONNECTIONS_MAX 1024u
#define RELAY_RATE_MAX 10000u
#define RELAY_PORTS_MAX 32u /* listeners at a time */
#define RELAY_STREAMS_MAX (RELAY_CONNECTIONS_MAX * 2)
#define RELAY_EXIT_BROKE 3 /* the relay's exit status after BROKE */

enum relay_op {
	RELAY_START = 1, RELAY_DOOR, RELAY_PORT, RELAY_CLOSE, RELAY_FINISH,
	RELAY_ORDERS,
	RELAY_READY = RELAY_ORDERS, RELAY_ENDED, RELAY_TOTAL, RELAY_FINISHED, RELAY_BROKE,
	RELAY_NOTE,
	RELAY_OPS
};

struct relay_order {
	uint32_t version, op;
	uint32_t connections; /* START: most at a time, 1 to RELAY_CONNECTIONS_MAX */
	/* START: most new ones and look-ups a second, 1 to RELAY_RATE_MAX */
	uint32_t rate;
	uint64_t bytes;       /* START: most bytes, both directions together; not 0 */
	uint32_t uid;         /* START: the owner, who may connect to ports */
	uint32_t port;        /* PORT, CLOSE: 1 to 65535 */
};

struct relay_said {
	uint32_t version, op;
	uint32_t stream; /* ENDED: number of the stream */
	uint32_t told;   /* ENDED: enum net_told */
	uint32_t port;   /* ENDED: the port of a stream of PORT; otherwise 0 */
	/* ENDED: of the stream; TOTAL, FINISHED: of all. As the program sees them. */
	uint64_t sent, received;
	uint64_t ms; /* ENDED: how long the stream was open */
	uint64_t dropped; /* TOTAL, FINISHED: ENDED that found no room */
	char text[RELAY_TEXT_MAX]; /* ENDED, BROKE: the reason, for a person; maybe "";
				    * NOTE: the sentence */
};

/* Each checks a message of size bytes that came with fd_count descriptors, and copies it.
 * Return: 0, or -EINVAL with the reason in *err. */
int relay_order_check(const void *bytes, size_t size, unsigned fd_count,
		      struct relay_order *ret, struct err *err);
int relay_said_check(const void *bytes, size_t size, unsigned fd_count,
		     struct relay_said *ret, struct err *err);

#endif
