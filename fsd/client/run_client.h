/* SPDX-License-Identifier: Apache-2.0 */
/* The client half of `fsd run`: it knows the mount and nothing behind it. */
#ifndef FSD_RUN_CLIENT_H
#define FSD_RUN_CLIENT_H

#include "fsd/fsd.h"

struct run_client {
	const char *file;             /* the program; "-": standard input */
	char **args;                  /* borrowed */
	unsigned arg_count;
	const char *language, *timeout, *memory; /* as given, or NULL */
	const char *env[LIMIT_ENV];   /* NAME=value */
	unsigned env_count;
	bool json;
	const char *mount;            /* or NULL: see which_mount.h */
	bool private;                 /* a private one in any case */
};

/* Return: the job's exit code; 1, 2 for errors of our own; 128 + N when signal N
 * came before it ran. */
int run_client(const struct run_client *c);

#endif
