/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GATEWAY_ASK_H
#define GATEWAY_ASK_H

#include "fsd/gateway/gateway.h"

/*
 * On a worker: runs a command in a sandbox's machine as its user, for 30 s at most, and
 * waits for its end. words: taken. Appends what it prints to out, as far as its cap goes.
 * Return: 0, 1 (it has failed), or negative errno with a sentence.
 */
int ask_machine(struct gateway *g, const char *sandbox, json_t *words, struct buf *out,
		struct err *err);

#endif
