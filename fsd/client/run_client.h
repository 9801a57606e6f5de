/* SPDX-License-Identifier: Apache-2.0 */
/* The client half of `fsd run`: it knows the mount and nothing behind it. */
#ifndef FSD_RUN_CLIENT_H
#define FSD_RUN_CLIENT_H

#include "vm/os/spawn.h"
#include "fsd/fsd.h"

struct run_client {
	const char *file;             /* the program; "-": standard input */
	char **args;                  /* borrowed */
	unsigned arg_count;
	const char *language, *timeout, *memory; /* as given, or NULL */
	const char *env[LIMIT_ENV];   /* NAME=value */
	unsigned env_count;
	bool json;
	const char *mount;            /* or NULL: find one, else a private one */
};

/* Return: the job's exit code; 1, 2 for errors of our own; 128 + N when signal N
 * came before it ran. */
int run_client(const struct run_client *c);

/* private.c: a mount of our own for as long as this process lives, which a
 * process of its own holds. That makes a directory for all that there is of it,
 * gives its name, a byte when the mount answers, and removes it at the end. */
#define PRIVATE_COMMAND "private" /* that one; SPAWN_FD_FIRST is the pipe */
#define PRIVATE_DIR 64
struct private_mount {
	char dir[PRIVATE_DIR]; /* "": not known yet */
	char mnt[PRIVATE_DIR + 16];
	struct child holder;
};
#define PRIVATE_NONE { .holder = { .pidfd = -1, .stderr_fd = -1 } }
/* signals: a signalfd; one ends the start. Return: 0, 128 + its number, or the
 * exit code of a failure; then private_stop() as well. */
int private_start(struct private_mount *p, int signals);
void private_stop(struct private_mount *p); /* no-op on none */
int private_main(int argc, char **argv);

#endif
