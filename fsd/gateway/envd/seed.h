/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --debug-ports: what was uploaded since the last cell, which the next one's sandbox
 * gets. The paths are in the meta of the sandbox that was uploaded to, as "uploads".
 */
#ifndef GATEWAY_SEED_H
#define GATEWAY_SEED_H

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"

/* Whether a request is for the sandbox whose cells get sandboxes of their own. */
bool seed_is_wanted(const struct request *r);

/* Notes the paths of `written`, [{path}]. Return: 0 or negative errno. */
int seed_add(struct gateway *g, const json_t *written, struct err *err);

/* Copies what was noted into another sandbox, and forgets it. */
int seed_give(struct gateway *g, const char *sandbox, struct err *err);

#endif
