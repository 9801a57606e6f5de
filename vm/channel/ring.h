/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of bytes on their way to or from a socket, in memory that outlives
 * this process. Whenever the process is killed, each byte is either in the ring
 * or on the other side of the socket: one system call moves the bytes and
 * stores their count in the ring's memory. Positions only grow. The byte at
 * position p lies at p modulo the size of the ring's memory, which is a power
 * of two. All calls are made on the loop.
 */
#ifndef VM_RING_H
#define VM_RING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct ring {
	/* Positions of the first byte, and behind the last one. */
	uint64_t at, end;
	/* Position at which the last system call began. */
	uint64_t from;
	/* Argument of that call; its msg_len is the number of bytes moved. */
	struct mmsghdr call;
};

/* The memory of a ring's bytes. Each process maps it at an address of its own. */
struct ring_room {
	uint8_t *data;
	size_t size; /* a power of two */
};

static inline size_t ring_len(const struct ring *r)
{
	return (size_t)(r->end - r->at);
}

/* Keeps the compiler from moving stores across this point, so that the next
 * server sees them in this order after a kill. */
static inline void ring_in_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Copies the bytes from position from on, which the ring must hold. */
void ring_get(struct ring_room room, uint64_t from, void *data, size_t size);
/* Sets *ret_data to the bytes at position from, without a copy. Return: how
 * many of size bytes lie there in one piece. Borrowed. */
size_t ring_piece(struct ring_room room, uint64_t from, size_t size,
		  const uint8_t **ret_data);
/* Copies bytes into the memory at position from. Changes no position. */
void ring_set(struct ring_room room, uint64_t from, const void *data,
	      size_t size);

/*
 * Receives up to size bytes of a nonblocking socket; the ring must have that
 * much room.
 * Return: bytes; 0: the end of the socket; or a negative errno of recv(2).
 */
ssize_t ring_receive(struct ring *r, struct ring_room room, int sock,
		     size_t size);
/* Sends as much as a nonblocking socket takes. Return: bytes, or a negative
 * errno of send(2). */
ssize_t ring_send(struct ring *r, struct ring_room room, int sock);
/* Gives the pages of an empty ring back to the kernel, if they are shared
 * memory. */
void ring_rest(const struct ring *r, struct ring_room room);

/* Completes the receive or the send that a dead process had begun. Return: 0 or
 * -EPROTO: the ring's positions are not possible. */
int ring_recover_received(struct ring *r, struct ring_room room);
int ring_recover_sent(struct ring *r, struct ring_room room);

#endif
