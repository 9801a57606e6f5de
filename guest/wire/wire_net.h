/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a machine's second port, which carries the connections of its programs.
 * Compiled by both sides (H host, G guest). A frame has the header of the wire, with a
 * magic of its own and without lanes:
 *
 *   H START            once; what was before is forgotten. u32 window, u32 most streams,
 *                      u32 most names
 *   G RESOLVE          u32 query, str name
 *   H ANSWER           u32 query; arg = enum net_answer; of NET_ANSWER_OK the ports that
 *                      are open: 1 to 8 pairs of u16 low, u16 high
 *   G OPEN             u32 stream, u32 port, str name or address
 *   H CONNECT          u32 stream, u32 port: to a program that listens
 *   both OPENED        u32 stream: answers OPEN and CONNECT
 *   both DATA          u32 stream, 1 to WIRE_NET_DATA_MAX bytes
 *   both WINDOW        u32 stream, u32 bytes that were taken
 *   both END           u32 stream: no DATA follows
 *   both RESET         u32 stream; arg = enum net_reset
 *   H FINISH           the program has ended: send what is left
 *   G FINISHED         that was all
 *   G FULL             the table of names had no row for an ANSWER
 *
 * The side that opens a stream numbers it. Numbers rise and are never used again; the
 * host's have bit 31 set.
 * net_stream.h has the order in which the frames of one may come.
 */
#ifndef GUEST_WIRE_NET_H
#define GUEST_WIRE_NET_H

#include "wire.h"

#define WIRE_NET_VERSION 1u
#define WIRE_NET_MAGIC (0xfe00u | WIRE_NET_VERSION)
#define WIRE_NET_DATA_MAX (16u << 10)
#define WIRE_NET_PAYLOAD_MAX (WIRE_NET_DATA_MAX + 4)
#define WIRE_NET_NAME_MAX 253u
#define WIRE_NET_RANGES 8u
#define WIRE_NET_PORT_NAME "fsd.net"
#define WIRE_NET_HOSTS 0x80000000u /* the streams that the host opens */
#define WIRE_NET_WINDOW_MIN (WIRE_NET_DATA_MAX)
#define WIRE_NET_WINDOW_MAX (16u << 20)
#define WIRE_NET_STREAMS_MAX 4096u
#define WIRE_NET_NAMES_MAX 4096u

enum wire_net_type {
	WIRE_NET_NONE = 0,
	/* host to guest */
	WIRE_NET_START, WIRE_NET_ANSWER, WIRE_NET_CONNECT, WIRE_NET_FINISH,
	/* guest to host */
	WIRE_NET_RESOLVE, WIRE_NET_OPEN, WIRE_NET_FINISHED,
	/* sent in both directions */
	WIRE_NET_OPENED, WIRE_NET_DATA, WIRE_NET_WINDOW, WIRE_NET_END, WIRE_NET_RESET,
	/* Sent by the guest. It stands last so that the types above keep their numbers,
	 * which machines of an older server use. */
	WIRE_NET_FULL,
	WIRE_NET_TYPES
};

enum wire_net_side { WIRE_NET_HOST = 1, WIRE_NET_GUEST = 2 };

enum net_answer {
	NET_ANSWER_OK,
	NET_ANSWER_NONE,  /* the name does not exist, or the job must not know it */
	NET_ANSWER_AGAIN, /* the host cannot answer now */
	NET_ANSWERS
};

enum net_reset {
	NET_RESET_PEER,    /* the other end of the connection has reset it */
	NET_RESET_REFUSED, /* no rule allows it, or no program listens */
	NET_RESET_FAILED,  /* the server could not be reached */
	NET_RESET_LIMIT,   /* the job has reached its limit */
	NET_RESETS
};

struct net_range {
	uint16_t low, high; /* 1 <= low <= high */
};

/* A frame of any type; fields that its type does not have are 0. */
struct net_frame {
	uint8_t type, arg;
	uint32_t id;     /* the stream, or the query */
	uint32_t port;   /* OPEN, CONNECT: 1 to 65535 */
	uint32_t window; /* START, and WINDOW: bytes */
	uint32_t streams, names; /* START: most open streams; rows in the table of
				  * names */
	uint32_t range_count;
	struct net_range range[WIRE_NET_RANGES]; /* ANSWER: ports that the job may
						  * reach */
	char name[WIRE_NET_NAME_MAX + 1];        /* RESOLVE, OPEN: printable ASCII */
	const uint8_t *data; /* DATA: borrowed from the payload */
	size_t size;
};

const char *wire_net_type_name(unsigned type);

/* Reads the 8 bytes at p, which came from that side. Return: 0, or -EPROTO (magic, a type
 * that this side does not send, length, arg). */
int wire_net_header_get(const uint8_t *p, enum wire_net_side from,
			struct wire_header *ret);
/* Reads the payload behind a header that passed. Return: 0 or -EPROTO. */
int wire_net_get(const struct wire_header *header, const uint8_t *payload,
		 struct net_frame *ret);
/* Writes header and payload. WIRE_HEADER_SIZE + WIRE_NET_PAYLOAD_MAX bytes are always
 * enough; if w has fewer, w->used may exceed its size. Only frames that wire_net_get()
 * accepts. */
void wire_net_put(struct wire_writer *w, const struct net_frame *frame);

#endif
