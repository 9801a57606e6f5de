/* SPDX-License-Identifier: Apache-2.0 */
/* The client half of `fsd run`: it knows the mount and nothing behind it. */
#ifndef FSD_RUN_CLIENT_H
#define FSD_RUN_CLIENT_H

#include "layout/layout.h"
#include "run_options.h"

struct run_client {
	/* As given, or NULL; of a flag, any text. Not of those that are lists. */
	const char *value[RUN_OPTIONS];
	const char *file;             /* the program; "-": standard input; NULL
					 with -c or -C */
	char **args;                  /* borrowed */
	unsigned arg_count;
	const char *env[LIMIT_ENV];   /* NAME=value */
	unsigned env_count;
	const char **inputs;          /* of -i; owned by the caller */
	unsigned input_count;
	const char **gets;            /* of -g; likewise */
	unsigned get_count;
	const char **packages;        /* of --packages; likewise */
	unsigned package_count;
	const char *command;          /* "run", "submit", "sandbox new" */
	bool submit;                  /* it does not wait */
};

/* Return: the job's exit code; 1, 2 for errors of our own; 128 + N when signal N
 * came before it ran. */
int run_client(const struct run_client *c);

#endif
