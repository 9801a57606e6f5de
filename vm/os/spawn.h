/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts programs. Only spawn.c forks. A child gets /dev/null as standard input
 * and output, a pipe as standard error, a session of its own, exactly the
 * descriptors of a table from number 3 on, no core dumps and no new privileges
 * (unless may_gain). It dies with this process, unless told otherwise.
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
	const char *const *argv; /* argv[0] is a path, or is searched in PATH */
	/* run this file instead of argv[0]; NULL: argv[0] */
	const char *program;
	const int *fds;          /* borrowed; fds[i] becomes 3 + i */
	unsigned fd_count;
	bool want_stdout;        /* standard output goes into the pipe too */
	bool may_gain;           /* the child may gain privileges (a setuid program) */
	int error_fd; /* borrowed: its standard error; 0: a pipe */
	int parting; /* signal it gets when this process ends; 0: SIGKILL */
	/* the child gets no signal when the parent dies; it must end when its socket
	 * does */
	bool outlives;
};

struct child {
	pid_t pid;
	int pidfd;     /* readable when the process has ended */
	int stderr_fd; /* nonblocking read end of the pipe of its standard error, or -1 */
};

/* Finds an executable by its path, or by its name in PATH; resolves links.
 * Return: 0 or negative errno. */
int spawn_find(const char *name, char ret[PATH_MAX]);
int spawn(const struct spawn *s, struct child *ret, struct err *err);
/*
 * Call it in a new process: disables core dumps. Return: 0 or negative errno.
 */
int spawn_no_core(void);
/*
 * Call it in a new process: sets every signal to its default, and unblocks all.
 */
void spawn_reset_signals(void);
/* Kills the child if it lives, reaps it, closes both descriptors. Waits at most a few
 * seconds. Return: its wait status, or -1. */
int child_end(struct child *c);
/* Reaps the child if it has ended. Return: true and *ret_status, or false. */
bool child_reap(struct child *c, int *ret_status);

/*
 * Reads the child's pipe as a text, until the child closes it or size - 1 bytes have
 * come. wait_ms: most time between two pieces. Return: the length or -ETIMEDOUT.
 */
ssize_t child_read(const struct child *c, char *text, size_t size, int wait_ms);

#endif
