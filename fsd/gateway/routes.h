/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all routes. A request's is found by method, path and service. */
#ifndef GATEWAY_ROUTES_H
#define GATEWAY_ROUTES_H

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
	/* The body in pieces, on a worker, in order, at most HTTP_CHUNK at a time;
	 * < 0 ends it, and the reply is there. It was there before if the rest is refused. NULL: the handler gets it whole. */
	int (*chunk)(struct request *r, const char *data, size_t len);
	size_t body_max;      /* 0: HTTP_BODY_MAX; of chunks: --max-upload */
	const char *topic;    /* of what is not there */
};

extern const struct route routes[];
extern const size_t route_count;

/* services: those that count. *other: a route of this path has another method.
 * part: for each {}. Return: NULL: there is none. Pure. */
const struct route *route_find(const char *method, const struct target *target,
			       unsigned services, const char **part,
			       bool *other);

#endif
