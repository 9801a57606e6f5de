/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes small files of the kernel (sysfs, procfs, cgroupfs), and
 * powers off. Any process.
 */
#ifndef GUEST_SYS_H
#define GUEST_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/err.h"

#define USER_ID 1000u /* user and group id of programs */
#define HOME "/home/user" /* the directory where programs start */
/*
 * Path of standard input if it is a file; the runners have the same constant.
 */
#define RUNNER_INPUT "/run/input/stdin"

/* Writes text to the file at path. Return: 0 or a negative errno. */
int sys_write(const char *path, const char *text);
/* Writes text to an open kernel file, at its start. */
int sys_put(int fd, const char *text);
/* Reads an open kernel file from its start into buf, NUL-terminated. */
int sys_get(int fd, char *buf, size_t size);
/* Reads the first line of the file at path, without its newline. */
int sys_read_line(const char *path, char *buf, size_t size);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t sys_now(void);

/* Ends the machine. reason, if not NULL, goes to the kernel's log, which only a
 * person who debugs sees. */
_Noreturn void sys_power_off(const char *reason);

#endif
