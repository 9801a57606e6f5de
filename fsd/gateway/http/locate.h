/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the sandbox and the service that a request names in its head. No call
 * waits; any thread.
 */
#ifndef GATEWAY_LOCATE_H
#define GATEWAY_LOCATE_H

#include "request.h"

/* Sets sandbox_id, and removes services that are not meant. Return: false: it
 * has replied. */
bool request_locate(struct request *r, unsigned *services);
/* Returns whether its path is this one part. */
bool request_path_is(const struct request *r, const char *name);
/*
 * Returns whether its path is one where old clients send only the access token.
 */
bool request_names_token(const struct request *r);

#endif
