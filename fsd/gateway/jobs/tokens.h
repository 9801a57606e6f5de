/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the sandbox of a token, for requests that name no sandbox. Known tokens
 * are stored, so for a wrong one only the names of all sandboxes are read, not
 * each config.
 */
#ifndef GATEWAY_TOKENS_H
#define GATEWAY_TOKENS_H

#include "sandbox.h"

/* Return: 0 or -ENOMEM. */
int tokens_open(struct gateway *g);
/* Call it when no worker runs any more. */
void tokens_close(struct gateway *g);

/* Finds the name of the sandbox whose token fits. On a worker; one at a time.
 * Return: false: there is none. */
bool tokens_find(struct gateway *g, bool (*fits)(void *arg, const char *token),
		 void *arg, char ret[SANDBOX_NAME]);

#endif
