/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of what is being made or removed: a rename gives a thing its name once it is whole,
 * and a later process knows by such a name what a dead one has left. Any thread.
 */
#ifndef VM_TEMP_H
#define VM_TEMP_H

#include <stdbool.h>

#define NEW_PREFIX ".new-" /* is being made */
#define OLD_PREFIX ".old-" /* is being removed */

/* Sets ret to prefix, of at most 8 bytes, and sixteen random digits. */
void temp_name(const char *prefix, char ret[32]);
/* Is it a name that temp_name() gives? */
bool is_temp_name(const char *name, const char *prefix);

#endif
