/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the sandbox and the service that a request names in its head. No call
 * waits; any thread.
 */
#ifndef GATEWAY_LOCATE_H
#define GATEWAY_LOCATE_H

#include "request.h"

/* Finds which sandbox and services a request means. Sets its sandbox_id, and reduces
 * *services to them; for port traffic to SERVICE_PORT. Return: false: it has replied. */
bool request_locate(struct request *r, unsigned *services);
/* Returns the port of a sandbox, other than the gateway's own two, that the head names;
 * 0: none, or --ports no. */
unsigned request_names_port(const struct request *r);
/* Returns whether the request's path is "/NAME". */
bool request_path_is(const struct request *r, const char *name);
/*
 * Returns whether the request's path is one where old clients send only the access token.
 */
bool request_names_token(const struct request *r);

#endif
