/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which pages a process has written of the memory that it shared with its
 * parent. Another fork of the same parent will write the same pages; copying
 * them at once saves it the faults. Also measures how much memory a process
 * shares with no other one.
 */
#ifndef VM_JAIL_PAGES_H
#define VM_JAIL_PAGES_H

#include <stdint.h>
#include <sys/types.h>

#include "vm/zygote/wire.h"

/*
 * Reads PID/maps and PID/pagemap. proc: a descriptor of /proc. *ret gets the
 * pages that are private, writable and in no other process; pages beyond its
 * limits are left out. Return: 0 or negative errno.
 */
int jail_pages_read(int proc, pid_t pid, struct zygote_pages *ret);

/*
 * Reads PID/smaps_rollup. *ret_kib gets the KiB that are freed when the process
 * ends: the pages that it has written and shares with no other. Return: 0 or
 * negative errno.
 */
int jail_pages_read_cost(int proc, pid_t pid, uint32_t *ret_kib);

/*
 * Starts a helper process that does this for the jailer, which has no /proc and
 * no right to inspect a machine. The helper ends when the socket is closed.
 * Return: the socket, or a negative errno.
 */
int jail_pages_begin(void);
/* Ask the helper; this takes some milliseconds, a second at most. Return: 0 or
 * negative errno. */
int jail_pages_ask(int sock, pid_t pid, struct zygote_pages *ret);
int jail_pages_cost(int sock, pid_t pid, uint32_t *ret_kib);

#endif
