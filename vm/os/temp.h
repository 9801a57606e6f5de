/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temporary names for files that are being made or removed. A rename gives a
 * file its name once it is complete; a later process recognizes the leftovers
 * of a dead one by such a name. Any thread.
 */
#ifndef VM_TEMP_H
#define VM_TEMP_H

#include <stdbool.h>

#define NEW_PREFIX ".new-" /* prefix of a file that is being made */
#define OLD_PREFIX ".old-" /* prefix of a file that is being removed */

/* Sets ret to prefix, of at most 8 bytes, and sixteen random digits. */
void temp_name(const char *prefix, char ret[32]);
/* Returns whether temp_name() can have made the name. */
bool is_temp_name(const char *name, const char *prefix);

#endif
