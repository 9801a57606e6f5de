/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc/self/mounts at each call. It sends no request to a file system, so a mount
 * that does not answer cannot block it.
 */
#include "mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "layout/layout.h"

#define TYPE "fuse.fsd"
#define LINE_MAX_BYTES (PATH_MAX + 2048)

/* Calls fn for each mount until it returns other than 0. Return: that value, or
 * 0. */
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

static uid_t owner_of(const struct mntent *m)
{
	const char *owner = hasmntopt(m, "user_id");

	owner = owner ? strchr(owner, '=') : NULL;
	return owner ? (uid_t)strtoul(owner + 1, NULL, 10) : 0;
}

struct wanted {
	dev_t device;
	struct mount_found *ret;
};

static int take_device(const struct mntent *m, void *arg)
{
	const struct wanted *w = arg;

	if (strcmp(m->mnt_type, TYPE) != 0 ||
	    mounts_device(m->mnt_dir) != w->device)
		return 0;
	w->ret->owner = owner_of(m);
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
	uid_t owner;
};

static int look_at_type(const struct mntent *m, void *arg)
{
	struct last *l = arg;

	if (strcmp(m->mnt_dir, l->path) != 0)
		return 0;
	l->is_fsd = !strcmp(m->mnt_type, TYPE);
	l->owner = owner_of(m);
	return 0;
}

bool mounts_is_fsd(const char *path)
{
	struct last l = { .path = path };

	each(look_at_type, &l);
	return l.is_fsd;
}

/* realpath() fails for a directory that may not be entered, so it resolves its
 * parent. */
bool mounts_is_fsd_at(const char *path, uid_t *ret_owner)
{
	auto_free char *copy = strdup(path), *dir = NULL, *name = NULL;
	auto_free char *parent = NULL, *full = NULL;
	struct last l = { 0 };

	dir = copy ? strdup(dirname(copy)) : NULL;
	free(copy);
	copy = strdup(path);
	name = copy ? strdup(basename(copy)) : NULL;
	parent = dir && name ? realpath(dir, NULL) : NULL;
	if (!parent || asprintf(&full, "%s/%s", strcmp(parent, "/") ? parent : "",
				name) < 0)
		return false;
	l.path = full;
	each(look_at_type, &l);
	*ret_owner = l.owner;
	return l.is_fsd;
}
