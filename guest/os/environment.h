/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the description of the environment in the machine's layer. Owns the
 * variables that every program of this machine starts with, and the mount of
 * its caches.
 *
 *   /usr/lib/fsd-environment/env      lines NAME=value
 *   /usr/lib/fsd-environment/cache/   copied to a tmpfs on /var/cache/user
 *   /usr/lib/fsd-environment/warm.json   read by the runners
 *
 * A machine without a layer has none of these files: environment base. Runs in
 * init.
 */
#ifndef GUEST_ENVIRONMENT_H
#define GUEST_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/err.h"

#define ENVIRONMENT_DIR "/usr/lib/fsd-environment"
#define ENVIRONMENT_TEXT_MAX (64u << 10) /* bytes of env */
#define ENVIRONMENT_LINES_MAX 256u

struct environment_vars {
	const char **item; /* owned array of "NAME=value" */
	uint32_t count;
	uint32_t own; /* how many of the last items are the environment's own */
	char *text; /* owned; `item` points into it */
};

/* Call it once, before the runners start. Return: 0 or errno: a file exists and
 * cannot be used. */
int environment_open(struct err *err);
/* Returns the base variables that the environment does not replace, then its
 * own. */
const struct environment_vars *environment_vars(void);
/* Parses a text of lines; takes ownership of it. Return: 0, -EINVAL (a line
 * without "=" or name, or with NUL inside), -E2BIG or -ENOMEM. */
int environment_parse(char *text, size_t size, struct environment_vars *ret);
void environment_vars_done(struct environment_vars *vars);

#endif
