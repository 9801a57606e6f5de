/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies bytes into and out of a ring, and moves them between a ring and a socket.
 * ring_receive() and ring_send() use recvmmsg(2) and sendmmsg(2). The kernel stores the
 * count in `call`, in shared memory, before it can deliver a SIGKILL.
 *
 * ring_recover_*() run in the next server and add that count to the position. The memory
 * is the caller's (struct ring_room). All functions run on the loop.
 */
#include "ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "layout/base/num.h"

size_t ring_piece(struct ring_room room, uint64_t from, size_t size,
		  const uint8_t **ret_data)
{
	size_t at = (size_t)(from & (room.size - 1));

	*ret_data = room.data + at;
	return MIN(size, room.size - at);
}

void ring_get(struct ring_room room, uint64_t from, void *data, size_t size)
{
	const uint8_t *piece;
	size_t first = ring_piece(room, from, size, &piece);

	memcpy(data, piece, first);
	memcpy((uint8_t *)data + first, room.data, size - first);
}

void ring_set(struct ring_room room, uint64_t from, const void *data,
	      size_t size)
{
	size_t at = (size_t)(from & (room.size - 1));
	size_t first = MIN(size, room.size - at);

	memcpy(room.data + at, data, first);
	memcpy(room.data, (const uint8_t *)data + first, size - first);
}

/* Fills iov with the one or two parts of the ring's memory that a call uses.
 * Return: how many. */
static size_t pieces(struct ring_room room, uint64_t from, size_t size,
		     struct iovec iov[2])
{
	size_t at = (size_t)(from & (room.size - 1));
	size_t first = MIN(size, room.size - at);

	iov[0] = (struct iovec){ room.data + at, first };
	iov[1] = (struct iovec){ room.data, size - first };
	return size > first ? 2 : 1;
}

/*
 * Prepares a call. The kernel stores the count of recvmmsg(2) and sendmmsg(2)
 * in shared memory before a SIGKILL can be delivered; recv(2) and send(2) would
 * only return it.
 */
static void begin_call(struct ring *r, uint64_t from, struct iovec *iov,
		       size_t count)
{
	r->call.msg_len = 0;
	ring_in_order();
	r->from = from;
	r->call.msg_hdr = (struct msghdr){ .msg_iov = iov, .msg_iovlen = count };
	ring_in_order();
}

ssize_t ring_receive(struct ring *r, struct ring_room room, int sock,
		     size_t size)
{
	struct iovec iov[2];
	int n;

	begin_call(r, r->end, iov, pieces(room, r->end, size, iov));
	n = recvmmsg(sock, &r->call, 1, MSG_DONTWAIT, NULL);
	/* If the peer died with unread bytes, Linux reports ECONNRESET once, before the
	 * last bytes. So read again. */
	if (n < 0 && errno == ECONNRESET)
		n = recvmmsg(sock, &r->call, 1, MSG_DONTWAIT, NULL);
	if (n < 0)
		return -errno;
	ring_in_order();
	r->end = r->from + r->call.msg_len;
	return r->call.msg_len;
}

ssize_t ring_send(struct ring *r, struct ring_room room, int sock)
{
	struct iovec iov[2];
	int n;

	begin_call(r, r->at, iov, pieces(room, r->at, ring_len(r), iov));
	n = sendmmsg(sock, &r->call, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	ring_in_order();
	r->at = r->from + r->call.msg_len;
	return r->call.msg_len;
}

void ring_rest(const struct ring *r, struct ring_room room)
{
	if (!ring_len(r))
		/* an error only means that the pages stay in memory */
		madvise(room.data, room.size, MADV_REMOVE);
}

static int check(const struct ring *r, struct ring_room room)
{
	return r->end < r->at || ring_len(r) > room.size ? -EPROTO : 0;
}

static int moved(const struct ring *r, struct ring_room room, uint64_t *ret)
{
	if (r->call.msg_len > room.size || r->from > UINT64_MAX - room.size)
		return -EPROTO;
	*ret = r->from + r->call.msg_len;
	return 0;
}

int ring_recover_received(struct ring *r, struct ring_room room)
{
	uint64_t end;

	if (moved(r, room, &end) < 0)
		return -EPROTO;
	r->end = MAX(r->end, end);
	return check(r, room);
}

int ring_recover_sent(struct ring *r, struct ring_room room)
{
	uint64_t at;

	if (moved(r, room, &at) < 0)
		return -EPROTO;
	r->at = MAX(r->at, at);
	return check(r, room);
}
