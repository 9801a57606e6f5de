/* SPDX-License-Identifier: Apache-2.0 */
/* A route, and how a request's is found in a table: by method, path and service. */
#ifndef GATEWAY_ROUTE_H
#define GATEWAY_ROUTE_H

#include "request.h"

enum service {
	SERVICE_CONTROL = 1, /* sandboxes; /mcp and /ui are of it too */
	SERVICE_CODE = 2,    /* a sandbox's 49999 */
	SERVICE_ENVD = 4,    /* a sandbox's 49983 */
	SERVICE_RUN = 8,     /* /run, which needs no key on --run-listen */
	SERVICE_ALL = 15,
};

enum style { STYLE_REST, STYLE_CONNECT, STYLE_TEXT };

struct route {
	const char *method;
	const char *path;     /* "/sandboxes/{}/timeout": {} is one part */
	enum service service;
	bool key;             /* it needs one, if there are keys */
	void (*handler)(struct request *r);
	/* Before the body and the handler, on a worker. It waits for no machine. false:
	 * it has replied. */
	bool (*guard)(struct request *r);
	enum style style;     /* of errors */
	bool quick;           /* the handler runs on the loop */
	bool light;           /* it never waits for a machine */
	/* Takes the body in pieces of at most HTTP_CHUNK, in order, on a worker. Return:
	 * < 0 ends the body, and the reply is there. If the rest is refused, the reply
	 * is there before the call. NULL: the handler gets the body whole. */
	int (*chunk)(struct request *r, const char *data, size_t len);
	size_t body_max;      /* 0: HTTP_BODY_MAX; of chunks: --max-upload */
	const char *topic;    /* of what is not there */
};

/* table: as routes[]. services: those that count. *other: a route of this path has
 * another method. part: for each {}. Return: NULL: there is none. Pure. */
const struct route *route_find(const struct route *table, const char *method,
			       const struct target *target, unsigned services,
			       const char **part, bool *other);

#endif
