/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtio port: reads and writes whole frames. Only port_find(), port_open(),
 * port_greet(), port_drain() and port_say_last() block.
 *
 * Outgoing bytes wait in one buffer. Bulk (program output) may fill it up to PORT_BULK.
 * The rest is kept for answers, so a slow host stops the programs' pipes but never an
 * answer. Runs in init; a lane's agent uses the same functions for its socket to init.
 */
#ifndef GUEST_PORT_H
#define GUEST_PORT_H

#include <stdbool.h>

#include "layout/base/err.h"
#include "guest/wire/wire.h"

#define PORT_BULK (192u << 10)
#define PORT_OUT_SIZE (PORT_BULK + 4 * WIRE_PAYLOAD_MAX)

struct port {
	int fd;         /* owned */
	uint8_t *in; /* owned; holds more than one largest frame */
	size_t in_size, in_at, in_end;
	uint8_t *out;   /* owned, PORT_OUT_SIZE */
	size_t out_at, out_end;
};

/* A frame; the payload is borrowed until the next port_next(). */
struct frame {
	struct wire_header header;
	const uint8_t *payload;
};

/* Opens the port of that name; waits as port_open() does. Return: its descriptor, which
 * does not block, or a negative errno. */
int port_find(const char *name);

/* Finds the port by its name and opens it. Waits for the device and its name,
 * ten seconds at most. */
int port_open(struct port *port, struct err *err);

/* Reads the bytes that are available, as far as the buffer has room. Return: 0;
 * -EPIPE: the host has closed the port; or another negative errno. */
int port_fill(struct port *port);
/* Takes the next frame. Return: 1; 0: no whole frame has come yet; -EPROTO. */
int port_next(struct port *port, struct frame *ret_frame);

/* As port_next(), for the port of a shared machine, whose headers name a lane. */
int port_next_lane(struct port *port, struct frame *ret_frame,
		   uint8_t *ret_lane);

/* Returns true while there is room for one more frame of bulk. */
bool port_has_room(const struct port *port);
/* Returns true while there is room for an answer; otherwise read no request. */
bool port_can_answer(const struct port *port);
/* Returns where to write the payload of the next frame, up to WIRE_PAYLOAD_MAX
 * bytes. */
uint8_t *port_room(struct port *port);
/* Queues the frame whose payload was put into port_room(). */
void port_commit(struct port *port, uint8_t type, uint8_t arg, size_t length);
/* As port_commit(), on a lane. */
void port_commit_lane(struct port *port, uint8_t lane, uint8_t type, uint8_t arg,
		      size_t length);
/* Queues a frame. Call port_has_room() or port_can_answer() before. */
void port_send(struct port *port, uint8_t type, uint8_t arg,
	       const void *payload, size_t length);
void port_send_text(struct port *port, uint8_t type, uint8_t arg,
		    const char *text);

/*
 * Writes all waiting bytes as soon as the host opens the port; waits a minute
 * at most. Until then the port reports "hung up", which later means that the
 * host has closed it.
 */
int port_greet(struct port *port);
bool port_is_pending(const struct port *port);
/* Writes as much as the device takes. Return: 0 or a negative errno. */
int port_flush(struct port *port);
/* Sends the reason why init ends. Waits until the host's side has it, a second
 * at most. */
void port_say_last(struct port *port, const char *text);
/* Blocks until there is room for bulk; all: until all is written. Only when no
 * program runs any more. */
int port_drain(struct port *port, bool all);
/* Drops all bytes that wait to be sent: the answers of heating. */
void port_forget(struct port *port);

#endif
