/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops rights for ever: capabilities, files by Landlock, system calls by
 * seccomp.
 */
#ifndef VM_RIGHTS_H
#define VM_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Keeps only those capabilities of caps (CAP_..., count of them) that this
 * thread has: effective, permitted and bounding; none is inheritable.
 * Async-signal-safe. Return: 0 or negative errno.
 */
int rights_keep(const unsigned *caps, size_t count);

/* Limits the capabilities that an executed program can gain to caps.
 * Async-signal-safe. Return: 0 or negative errno. */
int rights_bound(const unsigned *caps, size_t count);

/* As rights_keep(), but a program that this thread executes keeps them,
 * whatever its user. Async-signal-safe. Return: 0 or negative errno. */
int rights_hand_on(const unsigned *caps, size_t count);

struct rights_path {
	const char *path;
	bool write; /* false: only reading and executing */
};

/*
 * Makes a Landlock ruleset that permits only the files below the paths. As far
 * as the kernel can, it also forbids TCP, abstract sockets of other domains,
 * and signals to them. Return: a descriptor, -ENOSYS (the kernel has no
 * Landlock), ...
 */
int rights_landlock(const struct rights_path *paths, size_t count);
/*
 * The same, but permits signals out of the domain. A child that wants a signal
 * when its parent dies needs that, because the kernel sends it in the parent's
 * name.
 */
int rights_landlock_signals(const struct rights_path *paths, size_t count);
/*
 * The same as rights_landlock(), but permits TCP connections. It forbids listeners still.
 */
int rights_landlock_connects(const struct rights_path *paths, size_t count);
/* Applies a ruleset to this thread. Async-signal-safe; needs no_new_privs.
 * Return: 0 or negative errno. */
int rights_landlock_enter(int ruleset);

/* A call that is permitted if (argument & mask) equals value. */
struct rights_argument {
	int call;
	unsigned argument; /* 0 is the first */
	uint64_t mask, value;
};

struct rights_calls {
	/* permitted with any arguments; numbers as SCMP_SYS() gives */
	const int *call;
	size_t count;
	const struct rights_argument *argument;
	size_t argument_count;
};

/*
 * rights_calls.c: permits only these system calls; all others fail with EPERM.
 * Needs no_new_privs.
 * Return: 0 or negative errno.
 */
int rights_keep_calls(const struct rights_calls *calls);

#endif
