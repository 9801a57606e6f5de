/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the machine's file tree, and sets the kernel's settings. All functions
 * run in init.
 */
#ifndef GUEST_MOUNTS_H
#define GUEST_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "layout/base/err.h"

/* In the initramfs: mounts the kernel's device tree. */
int mounts_early(struct err *err);
/* Mounts the root image, moves into it and frees the initramfs. */
int mounts_switch_root(struct err *err);
/* In the root image: mounts proc, sys, cgroups and the writable directories.
 * /dev stays the kernel's until mounts_reduce_dev(). */
int mounts_system(struct err *err);
/* Replaces /dev by one with the few nodes that a program may use. */
int mounts_reduce_dev(struct err *err);
/* Writes the kernel's settings. */
int mounts_settings(struct err *err);
/* Call it last: covers files in which the kernel describes itself, and makes those that
 * control it, such as /proc/sys, read-only. */
int mounts_seal(struct err *err);
/*
 * Makes the home read-only, unless a file in it is open for writing. Return:
 * whether it is read-only now. One system call, because the kernel counts
 * writers.
 */
bool mounts_close_home(void);
/* Makes /tmp and /dev/shm half of the job's memory each, if that is more than
 * they have. */
int mounts_fit(uint64_t memory, struct err *err);
/*
 * In a shared machine: limits /tmp, /dev/shm and the home (/workspace and /code
 * together) to a part of the memory each. A full one fails with ENOSPC. Files
 * stay in memory when their writer is killed for lack of memory, so without a
 * limit one job could cause the kill of all others.
 */
int mounts_share(uint64_t memory, struct err *err);

#endif
