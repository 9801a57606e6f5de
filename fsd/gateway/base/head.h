/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the head of a request, and a body in chunks (RFC 9112). Refuses
 * everything that another parser could understand differently, since a proxy
 * may stand in between. Pure.
 */
#ifndef GATEWAY_HEAD_H
#define GATEWAY_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_HEADERS 100u          /* most headers of a request */
#define HEAD_BYTES (16u << 10) /* most bytes of all headers; also of the first line */
#define HEAD_ANSWER (32u << 10) /* most bytes of the head of an answer */
#define HEAD_ALL (2u * HEAD_BYTES) /* most bytes of the first line and all headers */
#define CHUNK_LINE 1024u           /* a chunk's first line, or a trailer */
#define CHUNK_TRAILERS 64u

/* Each text ends with a NUL and lies in the parsed bytes. */
struct head_field {
	const char *name, *value;
};

struct head {
	const char *method, *target;
	struct head_field field[HEAD_HEADERS];
	unsigned fields;
	bool old;        /* the request is HTTP/1.0 */
	bool keep; /* the connection stays open for another request */
	bool continues;  /* Expect: 100-continue */
	bool chunked;
	uint64_t length; /* bytes of a body that is not chunked */
	unsigned status; /* HTTP status if the head is refused */
	const char *why;
};

/* Parses a head; changes data. Return: the head's bytes; 0: more must come; -1:
 * status and why describe the error, and the connection must end. */
long head_parse(char *data, size_t len, struct head *h);

/*
 * The same for the head of an answer: target is its first line, status its code (100 to
 * 599), fields up to 32 KiB. -1: why says what is wrong.
 */
long head_parse_answer(char *data, size_t len, struct head *h);
/* Returns whether a list, "a, b", has that word in any case. */
bool head_has_word(const char *list, const char *word);

struct chunks {
	enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER, CHUNK_OVER } at;
	uint64_t left; /* bytes of the chunk still to come */
	unsigned trailers;
};

/*
 * Takes bytes from the front of data. *body, *size: the part that belongs to
 * the body, perhaps none. Zero chunks before the first call.
 * Return: the bytes taken; 0: more must come, or the body is complete; -1: they
 * are no chunks.
 */
long chunks_take(struct chunks *c, const char *data, size_t len,
		 const char **body, size_t *size);

#endif
