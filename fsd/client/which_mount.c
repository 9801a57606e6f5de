/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the mount of a command that names none. The usual places are believed only by
 * the kernel's table of mounts: a mount that another user made could show anything. A
 * user's own service comes before the host's.
 */
#include "which_mount.h"

#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Return: the uid that made the mount of fsd at path; -1: there is none. The kernel says
 * so, not the mount. The last line for a path is the uppermost mount. */
static long long mounted_by(const char *table, const char *path)
{
	FILE *f = setmntent(table, "re");
	struct mntent *m;
	long long owner = -1;

	while (f && (m = getmntent(f))) {
		const char *user = hasmntopt(m, "user_id");

		if (strcmp(m->mnt_dir, path) != 0)
			continue;
		user = user ? strchr(user, '=') : NULL;
		owner = !strcmp(m->mnt_type, "fuse.fsd") && user
				? strtoll(user + 1, NULL, 10)
				: -1;
	}
	if (f)
		endmntent(f);
	return owner;
}

/* True if this user may enter the mount: without --allow-other only its owner may. */
static bool may_enter(const char *path)
{
	return access(path, X_OK) == 0 || errno != EACCES;
}

/* Return: the mount of this user's own service; NULL: there is none. */
static const char *users_own(const char *table)
{
	static char path[PATH_MAX]; /* the returned path */
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (!dir || dir[0] != '/' ||
	    snprintf(path, sizeof(path), "%s" USER_MOUNT, dir) >= (int)sizeof(path))
		return NULL;
	return mounted_by(table, path) == (long long)geteuid() ? path : NULL;
}

const char *which_mount_by(const char *option, const char *table)
{
	const char *env = getenv("FSD_MOUNT"), *own;
	long long owner;

	if (option)
		return option;
	if (env && *env)
		return env;
	own = users_own(table);
	if (own)
		return own;
	owner = mounted_by(table, SERVICE_MOUNT);
	return (owner == 0 || owner == (long long)geteuid()) &&
			       may_enter(SERVICE_MOUNT)
		       ? SERVICE_MOUNT
		       : NULL;
}

const char *which_mount(const char *option)
{
	return which_mount_by(option, "/proc/self/mounts");
}
