/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one stream of the second port, as one side has it: which frames may come
 * next, and how many bytes may be under way. Both sides keep one of these a stream. It
 * has no bytes and no descriptors; the caller has them. Not thread-safe.
 */
#ifndef GUEST_NET_STREAM_H
#define GUEST_NET_STREAM_H

#include "wire_net.h"

struct net_stream {
	uint32_t id;
	bool ours;       /* this side has opened the stream, by OPEN or CONNECT */
	bool opened;     /* OPENED was sent or has come */
	bool said_end, heard_end, reset;
	uint32_t sent;   /* bytes that the peer has not yet acknowledged */
	uint32_t heard;  /* bytes that came and were not yet acknowledged to the peer */
	uint32_t taken;  /* how many of `heard` were passed on */
};

/* The stream numbers that have existed. Each side gives its streams rising numbers, so
 * one number a side is enough. */
struct net_ids {
	enum wire_net_side side; /* the side that has this struct */
	uint32_t last[2];        /* last number of this side; of the peer; without bit
				  * 31 */
};

/* Numbers a new stream of this side. Return: its number, or 0: there are no more. */
uint32_t net_ids_next(struct net_ids *ids);
/* Notes a stream that the peer begins. Return: 0, or -EPROTO: the number is not the
 * peer's, or not a new one. */
int net_ids_begin(struct net_ids *ids, uint32_t id);
/* Returns whether there has been a stream of this number. If not, a frame that names it
 * breaks the protocol. */
bool net_ids_was(const struct net_ids *ids, uint32_t id);

/* window, in the functions below: the bytes that START names, always the same. */

/* Counts a frame that came for the stream: OPENED, DATA, WINDOW, END or RESET. Return: 0,
 * or -EPROTO: it may not come now, or exceeds a window. */
int net_stream_hear(struct net_stream *s, uint32_t window, const struct net_frame *f);
/* Returns how many bytes may be sent now. */
uint32_t net_stream_room(const struct net_stream *s, uint32_t window);
/* Notes that n bytes that had come were passed on. Return: the bytes for a WINDOW frame;
 * 0: send none yet, as one for each quarter of a window is enough. */
uint32_t net_stream_took(struct net_stream *s, uint32_t window, uint32_t n);
/* Returns whether both sides have ended the stream, or one has reset it. */
bool net_stream_is_over(const struct net_stream *s);

#endif
