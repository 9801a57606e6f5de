/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up rights: capabilities, files by Landlock, system calls by seccomp. No way back. */
#ifndef VM_RIGHTS_H
#define VM_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Of the capabilities that this thread has only those of caps stay (CAP_...,
 * count of them), effective, permitted and bounding; none is inherited. Async-
 * signal-safe. Return: 0 or negative errno.
 */
int rights_keep(const unsigned *caps, size_t count);

/* No program that it executes gets others than these back. Async-signal-safe.
 * Return: 0 or negative errno. */
int rights_bound(const unsigned *caps, size_t count);

/* As rights_keep(), but a program that it executes has them, too, whoever runs
 * it. Async-signal-safe. Return: 0 or negative errno. */
int rights_hand_on(const unsigned *caps, size_t count);

struct rights_path {
	const char *path;
	bool write; /* else read and execute */
};

/*
 * A Landlock ruleset: what lies below the paths, nothing else; no TCP, no
 * abstract socket and no signal across its border, as far as the kernel can.
 * Return: a descriptor, -ENOSYS (the kernel has no Landlock), ...
 */
int rights_landlock(const struct rights_path *paths, size_t count);
/* The same, and signals may cross the border. A child that wants a signal when its
 * parent dies needs that: the kernel sends it in the parent's name. */
int rights_landlock_signals(const struct rights_path *paths, size_t count);
/* Async-signal-safe; needs no_new_privs. Return: 0 or negative errno. */
int rights_landlock_enter(int ruleset);

/* A call that is permitted if its argument, masked, has the value. */
struct rights_argument {
	int call;
	unsigned argument; /* 0 is the first */
	uint64_t mask, value;
};

struct rights_calls {
	const int *call; /* whatever their arguments; as SCMP_SYS() numbers them */
	size_t count;
	const struct rights_argument *argument;
	size_t argument_count;
};

/* rights_calls.c: all other system calls fail with EPERM from then on. Needs no_new_privs.
 * Return: 0 or negative errno. */
int rights_keep_calls(const struct rights_calls *calls);

#endif
