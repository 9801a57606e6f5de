/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .fsd/templates/ENVIRONMENT: what an environment contains, and how far its
 * template is. The names are read from the disk at each call. In an entry the
 * environment is its key, a number computed from its name. All functions run on
 * the loop.
 */
#ifndef FSD_CONTROL_ENVIRONMENT_H
#define FSD_CONTROL_ENVIRONMENT_H

#include "fsd/fsd.h"

/* Returns the environment's key, > 0 and below 2^32; 0: uid has no such
 * environment. */
uint64_t control_environment(const struct fsd *d, uid_t uid, const char *name);
/* Checks access: an environment that was built for a user is visible to that
 * user and the operator. Return: 0 or -EACCES. */
int control_environment_check(const struct fsd *d, uid_t uid, uint64_t key);
/* Calls fn for each one that uid may see, base first. */
void control_environments(const struct fsd *d, uid_t uid,
		       void (*fn)(void *arg, const char *name, uint64_t key),
		       void *arg);
/* Returns the name of an environment's file, by index from 0; NULL beyond the
 * last. */
const char *control_environment_field(unsigned field);
/* Appends the text of one of its files. Return: 0, -ESTALE: the environment is
 * gone, or another errno. */
int control_environment_text(const struct fsd *d, uint64_t key, unsigned field,
			  struct buf *out);

#endif
