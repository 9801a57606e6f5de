/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GATEWAY_ASK_H
#define GATEWAY_ASK_H

#include "fsd/gateway/gateway.h"

/*
 * Runs a command in a sandbox's machine as its user, for at most 30 s, and
 * waits for its end. On a worker. words: the command and its arguments; consumed.
 * Appends its output to out, up to the cap. Return: 0; 1: the command failed; or
 * negative errno with a sentence.
 */
int ask_machine(struct gateway *g, const char *sandbox, json_t *words, struct buf *out,
		struct err *err);

#endif
