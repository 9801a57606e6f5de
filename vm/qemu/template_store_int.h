/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of template_store.c and template_store_clean.c: files of CACHE/templates. Each
 * function returns 0 or a descriptor, or negative errno. Any thread; all may
 * wait for the disk.
 */
#ifndef VM_TEMPLATE_STORE_INT_H
#define VM_TEMPLATE_STORE_INT_H

#include "template_store.h"

/* Opens CACHE/templates; creates it if it is missing. */
int template_store_open_parent(const char *cache_dir);
/* Removes a template's directory by name. */
void template_store_remove_dir(int parent, const char *name);
int template_store_write_file(int dir, const char *name, const char *text);
/* Reads size - 1 bytes at most. */
int template_store_read_text(int dir, const char *name, char *text, size_t size);
/* Writes the file `of`. */
int template_store_put_of(int dir, const struct template_store_of *of);

#endif
