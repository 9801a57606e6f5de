/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heads of port traffic: a request as a program in a sandbox gets it, and the
 * program's answer as the client gets it. Removes what belongs to one connection, and
 * what only the gateway may know. Pure.
 */
#ifndef GATEWAY_PROXY_HEAD_H
#define GATEWAY_PROXY_HEAD_H

#include "head.h"
#include "layout/base/buf.h"

struct proxy_request {
	const char *method, *target;
	bool old;      /* the request is HTTP/1.0 */
	bool upgrades; /* the request asks for another protocol, as WebSocket does */
	const char *host;    /* Host of the sandbox's request; NULL: as it came */
	const char *address; /* the client's address */
	const char *secret;  /* name of a further header to remove; NULL: none */
};

/* Returns whether the fields ask for another protocol: "Connection: upgrade" with
 * "Upgrade". */
bool proxy_upgrades(const struct head_field *field, unsigned count);
/* Appends the head of the request. One request a connection: "Connection: close". */
void proxy_request_put(const struct proxy_request *q, const struct head_field *field,
		       unsigned count, struct buf *out);

struct proxy_answer {
	unsigned status;
	const char *line; /* the first line */
	struct head head; /* fields of the answer, and the framing of its body */
	bool has_length;
};

/* Parses the head of an answer; changes data. Return: the head's bytes; 0: more must
 * come; -1: head.why says what is wrong. */
long proxy_answer_parse(char *data, size_t len, struct proxy_answer *ret);
/* Appends the head for the client. Cookies lose "Domain": a sandbox must not set those of
 * others. */
void proxy_answer_put(const struct proxy_answer *a, struct buf *out);

#endif
