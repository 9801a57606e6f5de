/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .fsd/templates/ENVIRONMENT: what is in an environment and how far its machines
 * are. The names are those of the disk, so each look reads them anew. In a place
 * of the face one is its key, a number that follows from its name.
 */
#ifndef FSD_CONTROL_ENVIRONMENT_H
#define FSD_CONTROL_ENVIRONMENT_H

#include "fsd/fsd.h"

/* Return: its key, > 0 and below 2^32; 0: there is no such environment for uid. */
uint64_t control_environment(const struct fsd *d, uid_t uid, const char *name);
/* Another user's built environment is that user's and the operator's. Return: 0 or
 * -EACCES. */
int control_environment_check(const struct fsd *d, uid_t uid, uint64_t key);
/* Calls fn for each that uid may see, base first. */
void control_environments(const struct fsd *d, uid_t uid,
		       void (*fn)(void *arg, const char *name, uint64_t key),
		       void *arg);
/* The files of one, by index from 0; NULL beyond the last. */
const char *control_environment_field(unsigned field);
/* The text of one of its files. Return: 0, -ESTALE: it has gone, or errno. */
int control_environment_text(const struct fsd *d, uint64_t key, unsigned field,
			  struct buf *out);

#endif
