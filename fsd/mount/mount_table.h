/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts of fsd among those of this process's namespace. One is known by the
 * device number of its file system, for its path can be another one by now, or
 * somebody else's. A number is used again once the file system is gone.
 */
#ifndef FSD_MOUNT_TABLE_H
#define FSD_MOUNT_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct mount_found {
	char path[PATH_MAX];
	uid_t owner; /* who made it */
};

/* Of what is on top there; asks no file system. 0: it cannot be told. */
dev_t mounts_device(const char *path);
/* Where a file system of fsd is on top. Return: 0 or -ENOENT. */
int mounts_find(dev_t device, struct mount_found *ret);
/* Is the last mount on that path one of fsd? Dead or alive. */
bool mounts_is_fsd(const char *path);
/* The same of a path as a user has typed it, which he need not be able to enter.
 * True: *ret_owner has mounted it. */
bool mounts_is_fsd_at(const char *path, uid_t *ret_owner);

#endif
