/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands. Each gets its own argv (argv[0] is its name) and returns
 * the process's exit code: 0, 1 failure, 2 usage; `run`: the job's. */
#ifndef FSD_COMMANDS_H
#define FSD_COMMANDS_H

#include "fsd.h"

int command_mount(int argc, char **argv);
int command_umount(int argc, char **argv);
int command_run(int argc, char **argv);
int command_image(int argc, char **argv);
int command_doctor(int argc, char **argv);

/* "fsd NAME: sentence" on standard error; returns code. */
int complain(const char *command, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The usage of one command, on standard error; returns 2. */
int usage(const char *command);

/* Whom to tell that the mount answers. */
struct daemon_log;
struct ready {
	int fd;                 /* owned by serve(); gets one byte */
	struct daemon_log *log; /* borrowed; becomes standard error then; NULL:
				   that stays */
};
/* serve.c: mounts and serves until the end. ready may be NULL.
 * Return: exit code. */
int serve(const struct mount_options *options, struct ready *ready);
/* Fills what the command line left open. */
void mount_options_defaults(struct mount_options *options);
void mount_options_done(struct mount_options *options);

extern const struct vm_backend FSD_BACKEND;

#endif
