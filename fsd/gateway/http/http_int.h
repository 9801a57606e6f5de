/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the server: shared by http*.c. All functions run on the loop.
 */
#ifndef GATEWAY_HTTP_INT_H
#define GATEWAY_HTTP_INT_H

#include <sys/socket.h>

#include "fsd/gateway/base/head.h"
#include "http.h"
#include "request.h"

#define CLIENT_IN (64u << 10) /* most bytes read and not parsed */
#define CLIENT_PIECE (64u << 10) /* piece of a stream */

enum client_at {
	AT_HEAD, /* waits for the next request */
	AT_BODY,
	AT_WORK, /* the request is complete, and has no reply */
	AT_REPLY,
	AT_TUNNEL, /* the request and its answer go through a tunnel */
	AT_REST, /* the reply was sent before the whole body had come */
	AT_LINGER, /* the reply was sent; waits for the client to read it */
	AT_END,
};

/* How a connection continues whose request goes to a program in a sandbox (tunnel.c). */
struct tunnel {
	bool (*step)(struct client *c); /* Return: false: no byte can move now */
	void (*free)(struct tunnel *t);
};

/* A connection. The loop owns it. */
struct client {
	struct list node, ready;
	struct gateway *gateway;
	struct listener *listener;
	struct reactor_source source;
	struct reactor_timer clock; /* timeout of the present state */
	int fd;
	enum client_at at;
	bool readable, writable, eof;
	bool gone; /* the client sends no more, or is gone */
	bool spare; /* above a limit: the connection's request is refused */
	bool local; /* the client's address is loopback */
	char address[64];
	struct request *request; /* the running one */
	struct tunnel *tunnel; /* owned, or NULL */
	struct buf in;
	struct buf out; /* bytes of a reply */
	size_t out_at; /* bytes of `out` sent */

	/* --- of the request --------------------------------------------- */
	bool keep, old, head_only, chunked, continues;
	uint64_t left; /* bytes of a body that is not chunked still to come */
	struct chunks chunks;
	uint64_t seen; /* bytes of the body at the last check of the clock */

	/* --- of the reply ----------------------------------------------- */
	bool streams, in_chunks;
	/* position in the request's reply.body, and its size */
	size_t body_at, body_len;
};

/* functions of http.c */
void client_close(struct client *c);
/* Marks the client as ready: it continues after this turn of the loop. */
void client_wake(struct client *c);

/* http_client.c: does all steps of the connection that need not wait. May free c. */
void client_go(struct client *c);
void client_clock(struct client *c);
/* Reads more bytes into c->in. Return: false: there are none now. */
bool client_recv(struct client *c);
/* Sends bytes from *at on, and moves *at. Return: false: the socket takes no more now,
 * or has failed (then c->at is AT_END). */
bool client_send(struct client *c, const char *data, size_t len, size_t *at, bool more);
/* Notes that the client sends no more or is gone, and informs its request, if any. */
void client_gone(struct client *c);

/* http_request.c */
/* Makes a request from its head. NULL: no memory. */
struct request *request_new(struct client *c, const struct head *h);
/* Starts the request: answers it at once, or passes it to a worker. */
void request_begin(struct request *r, const struct head *h);
/* Adds a piece of the body. Return: false: no memory. */
bool request_body(struct request *r, const char *data, size_t len);
void request_whole(struct request *r);
/* Call it when the request has a reply before its whole body has come. */
void request_refused(struct request *r);
/* Call it when the request's reply was sent, or cannot be. */
void request_over(struct request *r);
void request_client_gone(struct request *r);

/* http_answer.c */
/* Puts a head and a text into c->out that are not the request's own. */
void answer_text(struct client *c, unsigned status, const char *json);
/* Puts the head of the request's reply into c->out. */
void answer_reply(struct client *c);
/* Puts more of a stream into c->out. Return: false: no bytes of the stream wait. */
bool answer_more(struct client *c);
void answer_mind_quiet(struct request *r);
void answer_resume(struct request *r);
void answer_gone(struct request *r);

#endif
