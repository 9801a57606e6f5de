/* SPDX-License-Identifier: Apache-2.0 */
/* Routes, and finding the route of a request by method, path and service. */
#ifndef GATEWAY_ROUTE_H
#define GATEWAY_ROUTE_H

#include "request.h"

enum service {
	SERVICE_CONTROL = 1, /* sandboxes; also /mcp and /ui */
	SERVICE_CODE = 2,    /* port 49999 of a sandbox */
	SERVICE_ENVD = 4,    /* port 49983 of a sandbox */
	SERVICE_RUN = 8,     /* /run, which needs no key on --run-listen */
	SERVICE_ALL = 15,
	/* any other port of a sandbox; only on listeners that have SERVICE_CONTROL */
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
	/* Called instead of the handler, after the guard, on the loop: begins a tunnel.
	 * NULL: the route has a handler. */
	void (*tunnel)(struct request *r);
	bool quick;           /* the handler runs on the loop */
	bool light;           /* the handler never waits for a machine */
	/*
	 * Gets the body in pieces of at most HTTP_CHUNK, in order, on a worker.
	 * Return: < 0 ends the body, and it has replied. If the server refuses
	 * the rest of the body, it makes the reply and calls this once more, so
	 * that the upload can remove its half-made file.
	 * NULL: the handler gets the whole body.
	 */
	int (*chunk)(struct request *r, const char *data, size_t len);
	/* 0: HTTP_BODY_MAX. Not used with chunk (--max-upload) or GET (HTTP_BODY_GET). */
	size_t body_max;
	const char *topic; /* name of a feature that fsd does not have */
};

/*
 * Finds a route of one of the services. part: gets a text for each {}. Return: NULL:
 * there is none; then *other is set to true if the path has a route of another method.
 * Pure.
 */
const struct route *route_find(const struct route *table, const char *method,
			       const struct target *target, unsigned services,
			       const char **part, bool *other);

#endif
