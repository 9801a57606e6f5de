/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place of this room that forks. A child gets /dev/null as standard
 * input and output, a pipe as standard error, its own session, exactly the
 * descriptors of a table from number 3 on, no core dumps, no new privileges
 * (unless it may gain some), and dies with this process unless told otherwise.
 */
#ifndef VM_SPAWN_H
#define VM_SPAWN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "layout/base/err.h"

#define SPAWN_FD_FIRST 3
#define SPAWN_FDS_MAX 16

struct spawn {
	const char *const *argv; /* argv[0] is a path or found in PATH, */
	const char *program;     /* unless this one is run as it */
	const int *fds;          /* borrowed; fds[i] becomes 3 + i */
	unsigned fd_count;
	bool want_stdout;        /* standard output goes into the pipe too */
	bool may_gain;           /* it may gain privileges (a setuid program) */
	int error_fd;            /* its standard error, borrowed; 0: a pipe */
	int parting;             /* its signal when we end; 0: SIGKILL */
	bool outlives;           /* none: it ends when its socket does */
};

struct child {
	pid_t pid;
	int pidfd;     /* readable when it has ended */
	int stderr_fd; /* nonblocking read end of its pipe, or -1 */
};

/* An executable by its path, or by its name in PATH; resolved. Return: 0 or
 * negative errno. */
int spawn_find(const char *name, char ret[PATH_MAX]);
int spawn(const struct spawn *s, struct child *ret, struct err *err);
/* In a new process: no core dump. Return: 0 or negative errno. */
int spawn_no_core(void);
/* In a new process: every signal as it is by default, none blocked. */
void spawn_reset_signals(void);
/* Kills it if it lives, reaps it, closes both descriptors. Waits at most a
 * few seconds. Return: its wait status, or -1. */
int child_end(struct child *c);
/* Reaps it if it has ended. Return: true and *ret_status, or false. */
bool child_reap(struct child *c, int *ret_status);

/* What it says until it closes its pipe, or size - 1 bytes of it, as a text;
 * wait_ms is between two pieces. Return: its length or -ETIMEDOUT. */
ssize_t child_read(const struct child *c, char *text, size_t size, int wait_ms);

#endif
