/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process has written of the memory that it shared with the one it was
 * forked off. Another fork of that one will write the same, and is spared the
 * faults if it gets its copies at once. And how much memory a process shares
 * with no other.
 */
#ifndef VM_JAIL_PAGES_H
#define VM_JAIL_PAGES_H

#include <stdint.h>
#include <sys/types.h>

#include "vm/zygote/wire.h"

/*
 * Reads PID/maps and PID/pagemap of proc, a descriptor of /proc. *ret gets the
 * pages that are private, writable and in no other process, up to its limits; the
 * rest is left out. Return: 0 or negative errno.
 */
int jail_pages_read(int proc, pid_t pid, struct zygote_pages *ret);

/* Reads PID/smaps_rollup of proc: *ret_kib gets what ends with the process,
 * which are the pages that it has written and shares with none. Return: 0 or
 * negative errno. */
int jail_pages_read_cost(int proc, pid_t pid, uint32_t *ret_kib);

/*
 * Starts a process that does it for the jailer, which has neither /proc nor the
 * right to look at a machine. It ends when the socket is closed.
 * Return: that socket, or a negative errno.
 */
int jail_pages_begin(void);
/* Asks it; some milliseconds, a second at most. Return: 0 or negative errno. */
int jail_pages_ask(int sock, pid_t pid, struct zygote_pages *ret);
int jail_pages_cost(int sock, pid_t pid, uint32_t *ret_kib);

#endif
