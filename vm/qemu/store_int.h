/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations for store.c and store_clean.c: files of CACHE/templates. Each function
 * returns 0 or a descriptor, or negative errno. Any thread. */
#ifndef VM_STORE_INT_H
#define VM_STORE_INT_H

#include "store.h"

/* Opens CACHE/templates; makes it if it is missing. */
int store_open_parent(const char *cache_dir);
/* Removes a template's directory by name. */
void store_remove_dir(int parent, const char *name);
int store_write_file(int dir, const char *name, const char *text);
/* Reads size - 1 bytes at most. */
int store_read_text(int dir, const char *name, char *text, size_t size);
/* Writes the file `of`. */
int store_put_of(int dir, const struct store_of *of);

#endif
