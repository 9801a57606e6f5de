/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of bytes on their way to or from a socket, in memory that outlives this
 * process. Whenever the process is killed, each byte is either in the ring or on the
 * socket's other side: one system call moves the bytes and counts them, in the ring's
 * own memory. Positions only grow; a byte at position p lies at p modulo the size of
 * the room, which is a power of two.
 */
#ifndef VM_RING_H
#define VM_RING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct ring {
	uint64_t at, end;    /* positions of what is in it */
	uint64_t from;       /* where the call that is, or was, under way began, */
	struct mmsghdr call; /* and how many bytes it has moved */
};

/* The ring's bytes; whoever has the ring knows where they are. */
struct ring_room {
	uint8_t *data;
	size_t size; /* a power of two */
};

static inline size_t ring_len(const struct ring *r)
{
	return (size_t)(r->end - r->at);
}

/* Nothing after it happens before it, for whoever looks when we are dead. */
static inline void ring_in_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Bytes from position from on, which are to be in the room. */
void ring_get(struct ring_room room, uint64_t from, void *data, size_t size);
/* Of these, those that lie in one piece there; *ret_data is borrowed. */
size_t ring_piece(struct ring_room room, uint64_t from, size_t size,
		  const uint8_t **ret_data);
/* Bytes to position from on, and nothing else. */
void ring_set(struct ring_room room, uint64_t from, const void *data,
	      size_t size);

/* Up to size bytes of a nonblocking socket to the end. The caller knows that there is
 * room. Return: bytes; 0: the end of the socket; or a negative errno of recv(2). */
ssize_t ring_receive(struct ring *r, struct ring_room room, int sock,
		     size_t size);
/* As much as a nonblocking socket takes, from the beginning. Return: bytes, or a
 * negative errno of send(2). */
ssize_t ring_send(struct ring *r, struct ring_room room, int sock);
/* An empty ring gives the room's pages back, if it is of shared memory. */
void ring_rest(const struct ring *r, struct ring_room room);

/* Finishes the call that a dead process had begun: a receive, or a send. Return: 0 or
 * -EPROTO: what is there cannot be true. */
int ring_recover_received(struct ring *r, struct ring_room room);
int ring_recover_sent(struct ring *r, struct ring_room room);

#endif
