/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the kernel (sysfs, procfs, cgroupfs) and power. */
#ifndef GUEST_SYS_H
#define GUEST_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/err.h"

#define USER_ID 1000u      /* who the program is */
#define HOME "/home/user"  /* where it runs */
/* Where standard input lies when it is a file; the runners name it, too. */
#define RUNNER_INPUT "/run/input/stdin"

/* Writes text to the file at path. Return: 0 or a negative errno. */
int sys_write(const char *path, const char *text);
/* Writes text to an open kernel file, from its start. */
int sys_put(int fd, const char *text);
/* Reads an open kernel file from its start into buf, NUL-terminated. */
int sys_get(int fd, char *buf, size_t size);
/* Reads the first line of the file at path, without its newline. */
int sys_read_line(const char *path, char *buf, size_t size);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t sys_now(void);

/*
 * Ends the machine. The reason, if there is one, goes to the kernel's log,
 * which is a console for whoever debugs and nothing else.
 */
_Noreturn void sys_power_off(const char *reason);

#endif
