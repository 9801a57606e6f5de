/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a request, and a body in chunks, as RFC 9112 writes them. What two readers
 * could read in two ways is refused, since a proxy may be one of them. Pure.
 */
#ifndef GATEWAY_HEAD_H
#define GATEWAY_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_HEADERS 100u          /* of a request */
#define HEAD_BYTES (16u << 10)     /* of all its headers, or of its first line */
#define HEAD_ALL (2u * HEAD_BYTES) /* of both */
#define CHUNK_LINE 1024u           /* a chunk's first line, or a trailer */
#define CHUNK_TRAILERS 64u

/* Each text ends with a NUL and lies in the bytes that were parsed. */
struct head_field {
	const char *name, *value;
};

struct head {
	const char *method, *target;
	struct head_field field[HEAD_HEADERS];
	unsigned fields;
	bool old;        /* HTTP/1.0 */
	bool keep;       /* the connection stays for the next request */
	bool continues;  /* Expect: 100-continue */
	bool chunked;
	uint64_t length; /* of a body that is not chunked */
	unsigned status; /* of a head that was refused, and why */
	const char *why;
};

/*
 * Changes data. Return: the bytes that the head has, 0: more must come; -1: status and
 * why tell what is wrong with it, and the connection cannot go on.
 */
long head_parse(char *data, size_t len, struct head *h);

struct chunks {
	enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER, CHUNK_OVER } at;
	uint64_t left;    /* of the chunk */
	unsigned trailers;
};

/*
 * Takes the front of data. *body, *size: what of it is the body's, maybe nothing. Zeroed
 * chunks begin. Return: the bytes that were taken, 0: more must come, or it is over; -1:
 * they are no chunks.
 */
long chunks_take(struct chunks *c, const char *data, size_t len,
		 const char **body, size_t *size);

#endif
