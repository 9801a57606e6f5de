/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtio port: whole frames in, whole frames out, never blocking but in
 * port_drain().
 *
 * Outgoing bytes wait in one buffer. Bulk (program output) may fill it up to
 * PORT_BULK; the rest is kept for frames that must always find room, so that
 * a slow host stops the pipes but never an answer.
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
	uint8_t *in;    /* owned; one largest frame and then some */
	size_t in_size, in_at, in_end;
	uint8_t *out;   /* owned, PORT_OUT_SIZE */
	size_t out_at, out_end;
};

/* One frame; the payload is borrowed until the next port_next(). */
struct frame {
	struct wire_header header;
	const uint8_t *payload;
};

/* Finds the port by its name and opens it. Waits for the device and for its
 * name, ten seconds at most. */
int port_open(struct port *port, struct err *err);

/* Reads what is there. Return: 0, -EPIPE (the host is gone) or an errno. */
int port_fill(struct port *port);
/* Return: 1 and *ret_frame, 0 (no whole frame yet), -EPROTO. */
int port_next(struct port *port, struct frame *ret_frame);

/* The same, of a wire with lanes. */
int port_next_lane(struct port *port, struct frame *ret_frame,
		   uint8_t *ret_lane);

/* True while there is room for one more frame of bulk. */
bool port_has_room(const struct port *port);
/* True while there is room for an answer; else do not read requests. */
bool port_can_answer(const struct port *port);
/* Where the payload of the next frame may be written, WIRE_PAYLOAD_MAX. */
uint8_t *port_room(struct port *port);
/* Sends the frame whose payload was put into port_room(). */
void port_commit(struct port *port, uint8_t type, uint8_t arg, size_t length);
/* The same, on a lane. */
void port_commit_lane(struct port *port, uint8_t lane, uint8_t type, uint8_t arg,
		      size_t length);
/* Queues a frame. The caller has checked for room; see above. */
void port_send(struct port *port, uint8_t type, uint8_t arg,
	       const void *payload, size_t length);
void port_send_text(struct port *port, uint8_t type, uint8_t arg,
		    const char *text);

/* Writes all that waits, as soon as the host listens; a minute at most. Until
 * then the port says "hung up", which later means that the host has gone. */
int port_greet(struct port *port);
bool port_is_pending(const struct port *port);
/* Writes what the device takes now. Return: 0 or a negative errno. */
int port_flush(struct port *port);
/* Says why init ends. Waits until the host's side has it, a second at most. */
void port_say_last(struct port *port, const char *text);
/* Waits until there is room for bulk, or, with all, until all is written.
 * Only for when no program runs any more. */
int port_drain(struct port *port, bool all);
/* Forgets what waits to be sent: the traces of heating. */
void port_forget(struct port *port);

#endif
