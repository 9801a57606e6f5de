/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.h"

/* What lies there already of a path that is still to be made; owned by the
 * caller, NULL: nothing can be said of it. */
static char *existing(const char *path)
{
	auto_free char *part = strdup(path);
	char *full, *slash;

	if (!part)
		return NULL;
	while (!(full = absolute_path(part)) && errno == ENOENT) {
		slash = strrchr(part, '/');
		if (!slash)
			return absolute_path(".");
		*(slash == part ? slash + 1 : slash) = '\0';
	}
	return full;
}

/* What is behind dir in path, without a slash: "" for the same; NULL when path
 * is not in dir. Both are absolute. */
static const char *below(const char *dir, const char *path)
{
	size_t len = strcmp(dir, "/") ? strlen(dir) : 0;

	if (strncmp(dir, path, len) != 0)
		return NULL;
	if (path[len] == '/')
		return path + len + 1;
	return path[len] ? NULL : path + len;
}

/* A mount there would hide what the state directory has of this name. */
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

static void warn_of_others(const char *state)
{
	struct stat st;

	if (stat(state, &st) < 0)
		return;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		log_warn("the state directory %s belongs to uid %u, who can "
			 "change every job and result; it should be ours, uid "
			 "%u", state, st.st_uid, geteuid());
	else if (st.st_mode & S_IWOTH)
		log_warn("the state directory %s can be written by every user, "
			 "mode %03o, who can change every job and result; it "
			 "should be 700", state, st.st_mode & 0777);
}

int places_check(const struct mount_options *o, struct err *err)
{
	const struct {
		const char *what, *path;
	} dirs[] = {
		{ "state directory", o->state_dir },
		{ "image", o->image_dir },
		{ "directory of templates", o->cache_dir },
	};
	auto_free char *state = existing(o->state_dir);
	const char *in_state = state ? below(state, o->mountpoint) : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		auto_free char *path = existing(dirs[i].path);

		if (path && below(o->mountpoint, path))
			return err_set(err, -EINVAL,
				       "the %s %s lies in the mount point %s, "
				       "and could not be reached behind the "
				       "mount; it must be elsewhere",
				       dirs[i].what, dirs[i].path,
				       o->mountpoint);
	}
	if (in_state && is_state(in_state))
		return err_set(err, -EINVAL,
			       "the mount point %s is a part of the state "
			       "directory %s; it must be elsewhere",
			       o->mountpoint, o->state_dir);
	warn_of_others(o->state_dir);
	return 0;
}
