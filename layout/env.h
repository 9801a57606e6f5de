/* SPDX-License-Identifier: Apache-2.0 */
/* Which environment variables a job may set. Pure. */
#ifndef LAYOUT_ENV_H
#define LAYOUT_ENV_H

#include <stdbool.h>
#include <stddef.h>

/* [A-Za-z_][A-Za-z0-9_]* */
bool env_name_ok(const char *name, size_t len);

/*
 * True for a variable that makes a loader, an interpreter or the C library run
 * or load something else than the program. Letters of either case are alike.
 */
bool env_is_hijack(const char *name);

/* Offset of the first byte that a value may not have, or len. */
size_t env_value_span(const char *value, size_t len);

#endif
