/* SPDX-License-Identifier: Apache-2.0 */
/* config.json of a file and of a command line. Pure. */
#ifndef LAYOUT_CONFIG_MERGE_H
#define LAYOUT_CONFIG_MERGE_H

#include <stddef.h>

#include "layout/base/buf.h"

/*
 * Appends the object of the text `file` with the members of the object `over`, which win;
 * of "env" each variable by itself. A file without a member in `over`, and one that is no
 * JSON object, is appended as it is: who reads it says what is wrong. An empty one is {}.
 * Return: 0 or -ENOMEM.
 */
int config_merge(const char *file, size_t file_len, const char *over,
		 size_t over_len, struct buf *out);

#endif
