/* SPDX-License-Identifier: Apache-2.0 */
/* Which environment variables a job may set. Pure. */
#ifndef LAYOUT_ENV_H
#define LAYOUT_ENV_H

#include <stdbool.h>
#include <stddef.h>

/* [A-Za-z_][A-Za-z0-9_]* */
bool env_name_ok(const char *name, size_t len);

/* Returns true for a variable by which a loader, an interpreter or the C
 * library would run or load other code than the program. Ignores case. */
bool env_is_hijack(const char *name);

/* Returns the offset of the first byte that a value may not have, or len. */
size_t env_value_span(const char *value, size_t len);

#endif
