/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by http*.c only. */
#ifndef GATEWAY_HTTP_INT_H
#define GATEWAY_HTTP_INT_H

#include <microhttpd.h>
#include <sys/socket.h>

#include "request.h"

/* A connection. */
struct client {
	struct list node;
	struct gateway *gateway;
	struct reactor_source source;
	struct reactor_timer headers; /* they are to be there in time */
	struct reactor_timer left;    /* it went, and the library is to see it */
	int fd;                  /* a duplicate: it tells that the client went */
	struct MHD_Connection *connection; /* borrowed */
	bool gone;
	bool closed;             /* by the library, but for its last look at it */
	bool local;              /* of loopback */
	bool spare;              /* beyond a bound: its request is refused */
	char address[64];
	struct request *request; /* under way */
};

/* http_request.c: what http.c's calls from the library come to. */
struct request *request_new(struct gateway *g, struct listener *l,
			    struct client *c, struct MHD_Connection *connection,
			    const char *uri);
enum MHD_Result request_access(struct request *r, const char *method,
			       const char *data, size_t *len);
void request_over(struct request *r); /* the library has done with it */
void request_client_gone(struct request *r);
/* Its head or its body has not ended. */
bool request_comes(const struct request *r);

/* http_answer.c */
enum MHD_Result answer_queue(struct request *r);
void answer_mind_quiet(struct request *r);
void answer_resume(struct request *r);
void answer_gone(struct request *r);

#endif
