/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sandbox has a token: for requests that name no sandbox. The tokens are kept, so
 * a wrong one costs a look at the names of all sandboxes, and not at each config.
 */
#ifndef GATEWAY_TOKENS_H
#define GATEWAY_TOKENS_H

#include "sandbox.h"

/* Return: 0 or -ENOMEM. */
int tokens_open(struct gateway *g);
/* When no worker runs any more. */
void tokens_close(struct gateway *g);

/* On a worker, one at a time: the name of the sandbox whose token fits. Return: false:
 * there is none. */
bool tokens_find(struct gateway *g, bool (*fits)(void *arg, const char *token),
		 void *arg, char ret[SANDBOX_NAME]);

#endif
