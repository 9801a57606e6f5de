/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks, before a mount is made, that it hides none of its own directories;
 * makes a missing mount point. Owns no state; runs before there is a thread.
 */
#include "check_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/base/read_dir.h"
#include "options.h"
#include "owners.h"
#include "default_dirs.h"

/* Returns the part of path after dir, without a slash: "" if they are equal;
 * NULL if path is not in dir. Both are absolute. */
static const char *below(const char *dir, const char *path)
{
	size_t len = strcmp(dir, "/") ? strlen(dir) : 0;

	if (strncmp(dir, path, len) != 0)
		return NULL;
	if (path[len] == '/')
		return path + len + 1;
	return path[len] ? NULL : path + len;
}

/* Returns whether a mount of this name would hide a part of the state
 * directory. */
static bool is_state(const char *name)
{
	static const char *const parts[] = { "jobs", "templates", "trash",
					     "lost+found" };
	size_t len = strcspn(name, "/");

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strlen(parts[i]) == len && !strncmp(parts[i], name, len))
			return true;
	return false;
}

/* --- the mount point ------------------------------------------------------------- */

char *place_make(const char *path, struct err *err)
{
	auto_free char *copy = strdup(path), *parent = NULL;
	struct stat st;
	char *full;

	parent = copy ? strdup(dirname(copy)) : NULL;
	if (!parent || stat(parent, &st) < 0) {
		err_sys(err, parent ? -errno : -ENOMEM, "the mount point %s",
			path);
		return NULL;
	}
	if (st.st_uid != geteuid()) {
		err_set(err, -ENOENT,
			"the mount point %s does not exist, and %s, where it "
			"would be made, is not this user's: mkdir it first, or "
			"choose another", path, parent);
		return NULL;
	}
	full = mkdir(path, 0755) < 0 ? NULL : absolute_path(path);
	if (!full)
		err_sys(err, -errno, "the mount point %s cannot be made", path);
	return full;
}

unsigned place_hides(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char first[256] = "";
	struct dirent *e;
	unsigned count = 0;

	while (dir && next_entry(dir, &e) == 0 && e)
		if (!count++)
			snprintf(first, sizeof(first), "%s", e->d_name);
	if (dir)
		closedir(dir);
	else
		fd_close(&fd);
	if (count)
		err_set(err, -ENOTEMPTY,
			"warning: %s is not empty; the mount hides what is "
			"there (%u: %s%s) until fsd umount", path, count, first,
			count > 1 ? ", ..." : "");
	return count;
}

/* --- together --------------------------------------------------------------------- */

int places_check(const struct mount_options *o, struct err *err)
{
	const struct {
		const char *what, *path;
	} dirs[] = {
		{ "state directory", o->state_dir },
		{ "image", o->vm.image_dir },
		{ "directory of templates", o->vm.cache_dir },
	};
	/* A state directory that does not exist yet has no parts. */
	auto_free char *state = absolute_path(o->state_dir);
	const char *in_state = state ? below(state, o->rooms.mountpoint) : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		auto_free char *path = existing_path(dirs[i].path);

		if (path && below(o->rooms.mountpoint, path))
			return err_set(err, -EINVAL,
				       "the %s %s lies in the mount point %s, "
				       "and could not be reached behind the "
				       "mount; it must be elsewhere",
				       dirs[i].what, dirs[i].path,
				       o->rooms.mountpoint);
	}
	if (in_state && is_state(in_state))
		return err_set(err, -EINVAL,
			       "the mount point %s is a part of the state "
			       "directory %s; it must be elsewhere",
			       o->rooms.mountpoint, o->state_dir);
	return owners_check(o, err);
}
