/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds mounts of fsd in this process's mount namespace. A mount is identified
 * by the device number of its filesystem: its path may change, or be another
 * mount's. A number is used again once its filesystem is gone. Any thread; asks
 * no filesystem, so it cannot block.
 */
#ifndef FSD_MOUNT_TABLE_H
#define FSD_MOUNT_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct mount_found {
	char path[PATH_MAX];
	uid_t owner; /* the user who mounted it */
};

/* Returns the device of the topmost mount at path; 0: not known. */
dev_t mounts_device(const char *path);
/* Finds where a filesystem of fsd is topmost. Return: 0 or -ENOENT. */
int mounts_find(dev_t device, struct mount_found *ret);
/* Returns whether the last mount on that path is one of fsd, dead or alive. */
bool mounts_is_fsd(const char *path);
/* Like mounts_is_fsd(), for a path as a user has typed it, which fsd may not be able to
 * enter. True: *ret_owner has mounted it. */
bool mounts_is_fsd_at(const char *path, uid_t *ret_owner);

#endif
