/* SPDX-License-Identifier: Apache-2.0 */
/* The line of .fsd/health. */
#ifndef LAYOUT_BASE_HEALTH_H
#define LAYOUT_BASE_HEALTH_H

#include <stdbool.h>
#include <string.h>

#define HEALTH_OK "ok"

/* Returns true if jobs can run: the line is HEALTH_OK, or that and a remark in
 * brackets. text: the line, with or without its newline. */
static inline bool health_is_ok(const char *text)
{
	const char *rest = text + sizeof(HEALTH_OK) - 1;

	return !strncmp(text, HEALTH_OK, sizeof(HEALTH_OK) - 1) &&
	       (!rest[0] || rest[0] == '\n' || !strncmp(rest, " (", 2));
}

#endif
