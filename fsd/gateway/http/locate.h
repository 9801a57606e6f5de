/* SPDX-License-Identifier: Apache-2.0 */
/* Which sandbox and service a request names by its head. No call waits; any thread. */
#ifndef GATEWAY_LOCATE_H
#define GATEWAY_LOCATE_H

#include "request.h"

/* From the head alone: sets sandbox_id, and takes services away that are not meant.
 * Return: false: it has replied. */
bool request_locate(struct request *r, unsigned *services);
/* Is its path one part, and this one? */
bool request_path_is(const struct request *r, const char *name);
/* Has it a path where old clients name nothing but the access token? */
bool request_names_token(const struct request *r);

#endif
