/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For --debug-ports: files that were uploaded since the last cell; the sandbox
 * of the next cell gets them. Their paths are in the meta of the sandbox that
 * they were uploaded to, as "uploads". On workers.
 */
#ifndef GATEWAY_SEED_H
#define GATEWAY_SEED_H

#include "fsd/gateway/http/request.h"
#include "fsd/gateway/jobs/sandbox.h"

/* Returns whether a request is for the sandbox whose cells get sandboxes of
 * their own. */
bool seed_is_wanted(const struct request *r);

/* Notes the paths in `written`, [{path}]. Return: 0 or negative errno. */
int seed_add(struct gateway *g, const json_t *written, struct err *err);

/* Copies the noted files into another sandbox, and forgets them. */
int seed_give(struct gateway *g, const char *sandbox, struct err *err);

#endif
