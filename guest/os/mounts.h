/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's file tree, and the kernel's settings. */
#ifndef GUEST_MOUNTS_H
#define GUEST_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "layout/base/err.h"

/* In the initramfs: the device tree that the kernel fills. */
int mounts_early(struct err *err);
/* Mounts the root image, moves into it and frees the initramfs. */
int mounts_switch_root(struct err *err);
/* In the root image: proc, sys, cgroups, and the writable places. The device
 * tree is the kernel's until mounts_reduce_dev(). */
int mounts_system(struct err *err);
/* Replaces /dev by the few nodes that a program may have. */
int mounts_reduce_dev(struct err *err);
/* Kernel settings that hold from now on. */
int mounts_settings(struct err *err);
/* The last: covers what the kernel shows of itself, and closes the rest to
 * writing. */
int mounts_seal(struct err *err);
/*
 * Makes the home read-only, unless a file in it is open for writing. Return:
 * true if it is read-only now. The kernel counts writers: it costs one call.
 */
bool mounts_close_home(void);
/* Gives /tmp and /dev/shm half of what a job has, if that is more than they have. */
int mounts_fit(uint64_t memory, struct err *err);
/*
 * In a shared machine, gives /tmp, /dev/shm and the home (/workspace and /code together)
 * a part of the memory each. A full one fails with ENOSPC. Files stay when their writer is
 * killed for memory, so without a bound one job could have all others killed.
 */
int mounts_share(uint64_t memory, struct err *err);

#endif
