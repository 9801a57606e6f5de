/* SPDX-License-Identifier: Apache-2.0 */
/* What seal.c, remove.c and import.c share. */
#ifndef VM_ENVIRONMENT_WRITE_INT_H
#define VM_ENVIRONMENT_WRITE_INT_H

#include "set.h"
#include "vm/os/temp.h"
#include "write.h"

/* Opens DIR. Return: a descriptor or negative errno. */
int top_open(const char *path);
/* Keeps other writers out until the descriptor is closed: DIR/names, locked. */
int top_lock(int top);
/* Removes a directory that has files only. Return: 0 or negative errno;
 * *bytes (may be NULL) grows by their sizes. */
int remove_flat(int at, const char *name, uint64_t *bytes);
/* Gives a set whose manifest is written its names; *n is abandoned. */
int publish(const struct environment_places *places, struct environment_new *n,
	    const struct set_manifest *m, const char *name, struct err *err);
/* Reads lock, warm and recipe; *ret_packages: how many the lock has. */
int check_texts(int dir, uint64_t *ret_packages, struct err *err);
/* Writes the manifest into a new set. */
int write_manifest(int dir, const struct set_manifest *m, struct err *err);

#endif
