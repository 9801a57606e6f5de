/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of a fake machine: shared by fake_net.c, which has the second port, and
 * fake_net_script.c, which has the commands.
 */
#ifndef VM_FAKE_NET_H
#define VM_FAKE_NET_H

#include "fake_guest_int.h"

#include "guest/wire/net_stream.h"
#include "guest/wire/wire_net.h"
#include "guest/wire/wire_network.h"

struct fake_stream {
	struct list node;
	struct net_stream wire;
	uint32_t number;
	const struct fake_guest *owner; /* NULL: the program has ended */
	unsigned reset;                 /* if wire.reset: enum net_reset */
	bool ends; /* END is sent behind the bytes of `out` */
	struct buf in, out;             /* owned: bytes that wait for the program; to send */
};

struct fake_net {
	struct loop_fd port; /* the guest owns its fd */
	struct buf in, out;
	bool started; /* START has come */
	bool ended;   /* the relay, or the machine's helper, has ended */
	uint32_t flags; /* enum wire_network_flag */
	uint32_t window, queries;
	struct net_ids ids;
	struct list streams; /* of struct fake_stream */
	uint32_t stream_count;
	struct buf told; /* for `net told` */
};

static inline struct fake_net *fake_net_of(struct fake_guest *g)
{
	return fake_machine(g)->net;
}

void fake_net_put(struct fake_net *n, struct net_frame f);
void fake_net_flush(struct fake_net *n);
/* The relay, or the machine's helper, has ended: all streams are reset. */
void fake_net_lost(struct fake_net *n);
/* Makes a stream, which becomes the program's current one. */
struct fake_stream *fake_stream_new(struct fake_guest *g, uint32_t id, bool ours);
/* Sends what the window allows, and END behind the last byte. */
void fake_stream_send(struct fake_net *n, struct fake_stream *s);
/* The program has read so many bytes. */
void fake_stream_take(struct fake_net *n, struct fake_stream *s, size_t size);
void fake_stream_reset(struct fake_net *n, struct fake_stream *s);

/* functions of fake_net_script.c: each hands a frame to the program that waits for it.
 * Return: whether there is one */
bool fake_net_answered(struct fake_guest *m, const struct net_frame *f);
bool fake_net_called(struct fake_guest *m, const struct net_frame *f);

#endif
