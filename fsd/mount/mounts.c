/* SPDX-License-Identifier: Apache-2.0 */
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define TYPE "fuse.fsd"
#define LINE_MAX_BYTES (PATH_MAX + 2048)

/* For each: m. Return: what fn says at last, when it is not 0; else 0. */
static int each(int (*fn)(const struct mntent *m, void *arg), void *arg)
{
	char line[LINE_MAX_BYTES];
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent m;
	int r = 0;

	if (!f)
		return 0;
	while (r == 0 && getmntent_r(f, &m, line, sizeof(line)))
		r = fn(&m, arg);
	endmntent(f);
	return r;
}

dev_t mounts_device(const char *path)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0,
		  &st) < 0)
		return 0;
	return makedev(st.stx_dev_major, st.stx_dev_minor);
}

struct wanted {
	dev_t device;
	struct mount_found *ret;
};

static int take_device(const struct mntent *m, void *arg)
{
	const struct wanted *w = arg;
	const char *owner;

	if (strcmp(m->mnt_type, TYPE) != 0 ||
	    mounts_device(m->mnt_dir) != w->device)
		return 0;
	owner = hasmntopt(m, "user_id");
	owner = owner ? strchr(owner, '=') : NULL;
	w->ret->owner = owner ? (uid_t)strtoul(owner + 1, NULL, 10) : 0;
	snprintf(w->ret->path, sizeof(w->ret->path), "%s", m->mnt_dir);
	return 1;
}

int mounts_find(dev_t device, struct mount_found *ret)
{
	struct wanted w = { .device = device, .ret = ret };

	return device && each(take_device, &w) ? 0 : -ENOENT;
}

struct last {
	const char *path;
	bool is_fsd;
};

static int look_at_type(const struct mntent *m, void *arg)
{
	struct last *l = arg;

	if (!strcmp(m->mnt_dir, l->path))
		l->is_fsd = !strcmp(m->mnt_type, TYPE);
	return 0;
}

bool mounts_is_fsd(const char *path)
{
	struct last l = { .path = path };

	each(look_at_type, &l);
	return l.is_fsd;
}
