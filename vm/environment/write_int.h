/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the writers: shared by seal.c, remove.c and export.c. */
#ifndef VM_ENVIRONMENT_WRITE_INT_H
#define VM_ENVIRONMENT_WRITE_INT_H

#include "set.h"
#include "vm/os/temp.h"
#include "write.h"

/* Opens DIR. Return: a descriptor or negative errno. */
int top_open(const char *path);
/* Locks DIR/names: keeps other writers out until the descriptor is closed. */
int top_lock(int top);
/* Removes a directory without subdirectories. *bytes (may be NULL) grows by its
 * files' sizes. Return: 0 or negative errno. */
int remove_flat(int at, const char *name, uint64_t *bytes);
/*
 * Gives a set whose manifest is written its id and its name; *n is abandoned.
 */
int publish(const struct environment_places *places, struct environment_new *n,
	    const struct set_manifest *m, const char *name, struct err *err);
/*
 * Checks lock, warm and recipe; *ret_packages: number of packages in the lock.
 */
int check_texts(int dir, uint64_t *ret_packages, struct err *err);
/* Writes the manifest into a new set. */
int write_manifest(int dir, const struct set_manifest *m, struct err *err);

#endif
