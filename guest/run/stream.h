/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's pipes: turns its output into frames, and frames into its input.
 * Never blocks.
 */
#ifndef GUEST_STREAM_H
#define GUEST_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/os/port.h"

struct stream {
	int fd;            /* owned; -1 after the pipe's end */
	uint8_t type;      /* wire type of the frames */
	uint64_t limit; /* most bytes to send; further ones are dropped */
	uint64_t bytes; /* bytes that the program has written */
	uint64_t dropped; /* how many of `bytes` were dropped */
	bool last; /* only `rest` more bytes are read */
	int rest;
};

/* Moves bytes from the pipe to the port while that has room. Return: 0, or 1 at
 * the pipe's end. */
int stream_pump(struct stream *s, struct port *port);
/* Ends the stream after the bytes that are in the pipe now, even if a process still
 * writes. */
void stream_last(struct stream *s);

struct input_stream {
	int fd;          /* owned; -1 when closed */
	uint8_t *bytes;  /* owned; WIRE_STDIN_WINDOW */
	uint32_t at, end;
	uint64_t put; /* bytes that were written to the pipe */
	/* bytes of `put` that the host knows the program has read */
	uint64_t read;
	/* the pipe has one page: it has room only when all was read */
	bool narrow;
	int rest; /* owned: the read end of a pipe that is complete, or -1 */
	bool ended; /* the host has sent everything */
	int file; /* owned; a file that the bytes come from, or -1 */
	bool quiet; /* do not acknowledge to the host */
};

int input_open(struct input_stream *in, int fd);
/* Takes a STDIN frame. Return: 0, or -EPROTO if it exceeds the window. */
int input_add(struct input_stream *in, const void *data, size_t length);
void input_end(struct input_stream *in);
/* Takes all input from the file at path. Return: 0 or negative errno. */
int input_from(struct input_stream *in, const char *path);
bool input_is_pending(const struct input_stream *in);
/* Returns whether the caller must poll the pipe for POLLOUT. */
bool input_is_awaited(const struct input_stream *in);
/*
 * Writes as much as the pipe takes, and acknowledges to the host the bytes that the
 * program has read. If no process can read the pipe any more, reports that to the host
 * and drops the rest.
 */
void input_pump(struct input_stream *in, struct port *port);
/* Acknowledges what the program has read of the last page; call it at the
 * program's end. */
void input_report(struct input_stream *in, struct port *port);
/* Frees the input of an ended step. */
void input_reset(struct input_stream *in);

#endif
