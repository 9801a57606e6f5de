/* SPDX-License-Identifier: Apache-2.0 */
/* The program's pipes: its output as frames, its input from frames. */
#ifndef GUEST_STREAM_H
#define GUEST_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/os/port.h"

struct stream {
	int fd;            /* owned; -1 after the pipe's end */
	uint8_t type;      /* of the frames */
	uint64_t limit;    /* bytes that are sent; further ones are dropped */
	uint64_t bytes;    /* that the program wrote */
	uint64_t dropped;  /* of these */
	bool last;         /* no more than rest is read */
	int rest;
};

/* Moves what is in the pipe to the port, as long as that has room. Return: 0,
 * or 1 at the pipe's end. */
int stream_pump(struct stream *s, struct port *port);
/* The stream ends with what the pipe has now: who has it open may go on writing. */
void stream_last(struct stream *s);

struct input_stream {
	int fd;          /* owned; -1 when closed */
	uint8_t *bytes;  /* owned; WIRE_STDIN_WINDOW */
	uint32_t at, end;
	uint64_t put;    /* bytes that were written to the pipe; */
	uint64_t read;   /* of these, the host knows that the program has read them */
	bool narrow;     /* the pipe has one page: it takes more once all is read */
	int rest;        /* owned: the reader's end of a complete pipe, or -1 */
	bool ended;      /* the host has sent all */
	int file;        /* owned; it comes from there and not in frames, or -1 */
	bool quiet;      /* the host is not told what is read */
};

int input_open(struct input_stream *in, int fd);
/* Takes a STDIN frame. -EPROTO if it goes beyond the window. */
int input_add(struct input_stream *in, const void *data, size_t length);
void input_end(struct input_stream *in);
/* All of it is in the file at path. Return: 0 or negative errno. */
int input_from(struct input_stream *in, const char *path);
bool input_is_pending(const struct input_stream *in);
/* Must the caller poll the pipe for POLLOUT? */
bool input_is_awaited(const struct input_stream *in);
/* Writes as much as the pipe takes and acknowledges the bytes that the program has read.
 * If the program has closed its input, tells the host and drops the rest. */
void input_pump(struct input_stream *in, struct port *port);
/* At the program's end: acknowledges what it has read of the last page. */
void input_report(struct input_stream *in, struct port *port);
/* Frees the input of a step that is over. */
void input_reset(struct input_stream *in);

#endif
