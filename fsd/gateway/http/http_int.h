/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by http*.c only. */
#ifndef GATEWAY_HTTP_INT_H
#define GATEWAY_HTTP_INT_H

#include <sys/socket.h>

#include "fsd/gateway/base/head.h"
#include "http.h"
#include "request.h"

#define CLIENT_IN (64u << 10)    /* bytes that are read and not taken */
#define CLIENT_PIECE (64u << 10) /* of a stream, at a time */

enum client_at {
	AT_HEAD,   /* of the next request; maybe nothing of it has come */
	AT_BODY,
	AT_WORK,   /* all of the request is there, and no reply */
	AT_REPLY,
	AT_REST,   /* the reply was sent before the body had come */
	AT_LINGER, /* the reply was sent, and its client has to see it */
	AT_END,
};

/* A connection; the loop's. */
struct client {
	struct list node, ready;
	struct gateway *gateway;
	struct listener *listener;
	struct reactor_source source;
	struct reactor_timer clock; /* of what it is at */
	int fd;
	enum client_at at;
	bool readable, writable, eof;
	bool gone;               /* it sends no more, or nothing at all */
	bool spare;              /* beyond a bound: its request is refused */
	bool local;              /* of loopback */
	char address[64];
	struct request *request; /* under way */
	struct buf in;
	struct buf out;          /* of a reply, */
	size_t out_at;           /* sent up to here */

	/* of the request: */
	bool keep, old, head_only, chunked, continues;
	uint64_t left;           /* of a body that is not chunked */
	struct chunks chunks;
	uint64_t seen;           /* bytes of the body at the last look of the clock */

	/* of the reply: */
	bool streams, in_chunks;
	size_t body_at, body_len; /* of the request's reply.body */
};

/* http.c */
void client_close(struct client *c);
/* It may go on: it is looked at behind this turn of the loop. */
void client_wake(struct client *c);

/* http_client.c: all that can be done now. It may close it. */
void client_go(struct client *c);
void client_clock(struct client *c);
/* Its request, if any, hears of it. */
void client_gone(struct client *c);

/* http_request.c */
/* Return: NULL: no memory. */
struct request *request_new(struct client *c, const struct head *h);
/* May be answered already then, or be handed to a worker. */
void request_begin(struct request *r, const struct head *h);
/* A piece of the body. Return: false: no memory. */
bool request_body(struct request *r, const char *data, size_t len);
void request_whole(struct request *r);
/* It has a reply before all of its body has come. */
void request_refused(struct request *r);
void request_over(struct request *r); /* its reply was sent, or cannot be */
void request_client_gone(struct request *r);

/* http_answer.c */
/* The head into c->out, with a text that is none of the request's own. */
void answer_text(struct client *c, unsigned status, const char *json);
/* The head of the request's reply into c->out. */
void answer_reply(struct client *c);
/* More of a stream into c->out. Return: false: it waits. */
bool answer_more(struct client *c);
void answer_mind_quiet(struct request *r);
void answer_resume(struct request *r);
void answer_gone(struct request *r);

#endif
