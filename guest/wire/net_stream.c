/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the order of a stream's frames and counts its window. A frame that may not
 * come now is always a mistake of the peer, not a race: both ends see the same frames
 * in the same order.
 *
 * The caller sets said_end, opened and reset when it sends END, OPENED and RESET, and
 * adds to `sent` the bytes that it sends.
 */
#include "net_stream.h"

#include <errno.h>

static bool is_ours(const struct net_ids *ids, uint32_t id)
{
	return !(id & WIRE_NET_HOSTS) == (ids->side == WIRE_NET_GUEST);
}

uint32_t net_ids_next(struct net_ids *ids)
{
	if (ids->last[0] == ~WIRE_NET_HOSTS)
		return 0;
	return ++ids->last[0] | (ids->side == WIRE_NET_HOST ? WIRE_NET_HOSTS : 0);
}

int net_ids_begin(struct net_ids *ids, uint32_t id)
{
	uint32_t number = id & ~WIRE_NET_HOSTS;

	if (is_ours(ids, id) || number <= ids->last[1])
		return -EPROTO;
	ids->last[1] = number;
	return 0;
}

bool net_ids_was(const struct net_ids *ids, uint32_t id)
{
	uint32_t number = id & ~WIRE_NET_HOSTS;

	return number && number <= ids->last[!is_ours(ids, id)];
}

static bool may_come(const struct net_stream *s, uint32_t window,
		     const struct net_frame *f)
{
	switch (f->type) {
	case WIRE_NET_OPENED:
		return s->ours && !s->opened;
	case WIRE_NET_DATA:
		return s->opened && !s->heard_end && f->size <= window - s->heard;
	case WIRE_NET_WINDOW:
		return f->window <= s->sent;
	case WIRE_NET_END:
		return s->opened && !s->heard_end;
	case WIRE_NET_RESET:
		return true;
	default:
		return false;
	}
}

int net_stream_hear(struct net_stream *s, uint32_t window, const struct net_frame *f)
{
	if (!may_come(s, window, f))
		return -EPROTO;
	s->opened |= f->type == WIRE_NET_OPENED;
	s->heard_end |= f->type == WIRE_NET_END;
	s->reset |= f->type == WIRE_NET_RESET;
	if (f->type == WIRE_NET_DATA)
		s->heard += (uint32_t)f->size;
	if (f->type == WIRE_NET_WINDOW)
		s->sent -= f->window;
	return 0;
}

uint32_t net_stream_room(const struct net_stream *s, uint32_t window)
{
	return s->opened && !s->said_end && !s->reset ? window - s->sent : 0;
}

uint32_t net_stream_took(struct net_stream *s, uint32_t window, uint32_t n)
{
	uint32_t told = 0;

	s->taken += n;
	if (s->taken < window / 4)
		return 0;
	told = s->taken;
	s->heard -= told;
	s->taken = 0;
	return told;
}

bool net_stream_is_over(const struct net_stream *s)
{
	return s->reset || (s->said_end && s->heard_end);
}
