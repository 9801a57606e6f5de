/* SPDX-License-Identifier: Apache-2.0 */
/* Merges config.json of a file with that of a command line. Pure. */
#ifndef LAYOUT_CONFIG_MERGE_H
#define LAYOUT_CONFIG_MERGE_H

#include <stddef.h>

#include "layout/base/buf.h"

/*
 * Appends the object in `file` with the members of the object in `over`, which
 * win; "env" is merged by variable. If `over` is empty, or the file is no JSON
 * object, the file is appended unchanged: its reader reports the mistake. An
 * empty file counts as {}. Return: 0 or -ENOMEM.
 */
int config_merge(const char *file, size_t file_len, const char *over,
		 size_t over_len, struct buf *out);

#endif
