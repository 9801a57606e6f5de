/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAYOUT_BASE_DOTS_H
#define LAYOUT_BASE_DOTS_H

#include <stdbool.h>
#include <string.h>

/* Returns true for the entries "." and "..". */
static inline bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

#endif
