/* SPDX-License-Identifier: Apache-2.0 */
/* Routes, and finding the route of a request by method, path and service. */
#ifndef GATEWAY_ROUTE_H
#define GATEWAY_ROUTE_H

#include "request.h"

enum service {
	SERVICE_CONTROL = 1, /* sandboxes; also /mcp and /ui */
	SERVICE_CODE = 2,    /* a sandbox's 49999 */
	SERVICE_ENVD = 4,    /* a sandbox's 49983 */
	SERVICE_RUN = 8,     /* /run, which needs no key on --run-listen */
	SERVICE_ALL = 15,
	/* any other port of a sandbox, where the control plane is served, too */
	SERVICE_PORT = 16,
};

enum style { STYLE_REST, STYLE_CONNECT, STYLE_TEXT };

struct route {
	const char *method;
	const char *path;     /* "/sandboxes/{}/timeout": {} is one part */
	enum service service;
	bool key; /* a request needs a key, if there are keys */
	void (*handler)(struct request *r);
	/* Runs before the body and the handler, on a worker; waits for no
	 * machine. false: it has replied. */
	bool (*guard)(struct request *r);
	enum style style; /* the form of errors */
	/* Begins a tunnel when the guard is done, on the loop; then there is no handler.
	 * NULL: none. */
	void (*tunnel)(struct request *r);
	bool quick;           /* the handler runs on the loop */
	bool light;           /* the handler never waits for a machine */
	/*
	 * Gets the body in pieces of at most HTTP_CHUNK, in order, on a worker.
	 * Return: < 0 ends the body, and it has replied. If the rest is
	 * refused, the reply exists before the call.
	 * NULL: the handler gets the whole body.
	 */
	int (*chunk)(struct request *r, const char *data, size_t len);
	size_t body_max;      /* 0: HTTP_BODY_MAX; of chunks: --max-upload */
	const char *topic; /* name of a feature that fsd does not have */
};

/*
 * Finds a route. services: those to consider. *other: a route of this path has
 * another method. part: gets a text for each {}. Return: NULL: there is none.
 * Pure.
 */
const struct route *route_find(const struct route *table, const char *method,
			       const struct target *target, unsigned services,
			       const char **part, bool *other);

#endif
