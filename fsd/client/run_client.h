/* SPDX-License-Identifier: Apache-2.0 */
/* The client half of `fsd run`: it knows the mount and nothing behind it. */
#ifndef FSD_RUN_CLIENT_H
#define FSD_RUN_CLIENT_H

#include "layout/layout.h"
#include "run_options.h"

struct run_client {
	/* Values as given, or NULL; a flag has any text. Options that are lists are not
	 * here. */
	const char *value[RUN_OPTIONS];
	const char *file;             /* the program; "-": standard input; NULL
					 with -c or -C */
	char **args;                  /* borrowed */
	unsigned arg_count;
	const char *env[LIMIT_ENV];   /* texts NAME=value */
	unsigned env_count;
	const char **inputs;          /* -i; owned by the caller */
	unsigned input_count;
	const char **gets;            /* -g; owned by the caller */
	unsigned get_count;
	const char **packages;        /* --packages; owned by the caller */
	unsigned package_count;
	const char **networks;        /* --network; owned by the caller */
	unsigned network_count;
	uint16_t ports[LIMIT_PORTS];  /* of --port */
	unsigned port_count;
	const char *command;          /* "run", "submit", "sandbox new" */
	bool submit;                  /* for `fsd submit`, which does not wait for the
				       * job */
};

/* Return: the job's exit code; 1, 2 for errors of our own; 128 + N when signal N
 * came before it ran. */
int run_client(const struct run_client *c);

#endif
