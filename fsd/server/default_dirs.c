/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Default directories. The state's is in the user's home; those of the image, of QEMU and
 * of environments are found from the program's path. The environment variables of fsd(8)
 * have priority. Owns no state.
 */
#include "default_dirs.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout/layout.h"

/* Joins dir and tail; NULL without memory. */
static char *join(const char *dir, const char *tail)
{
	char *text;

	return asprintf(&text, "%s%s", dir, tail) < 0 ? NULL : text;
}

/*
 * Returns the directory that $variable names, or tail in this user's home. NULL
 * with errno: there is none. Never in /tmp, where another user could have made
 * it.
 */
static char *in_home(const char *variable, const char *tail)
{
	const char *dir = getenv(variable), *home = getenv("HOME");
	const struct passwd *user;

	if (dir && dir[0] == '/')
		return strdup(dir);
	if (!home || home[0] != '/') {
		user = getpwuid(geteuid());
		home = user ? user->pw_dir : NULL;
	}
	if (!home || home[0] != '/' || !home[1]) {
		errno = ENOENT;
		return NULL;
	}
	return join(home, tail);
}

char *default_state_dir(void)
{
	auto_free char *dir = NULL;

	if (geteuid() == 0)
		return strdup("/var/lib/fsd");
	dir = in_home("XDG_STATE_HOME", "/.local/state");
	return dir ? join(dir, "/fsd") : NULL;
}

/* Returns the path `first`, beside the program, or `second`, where an
 * installation has it. NULL without memory. */
static char *near_program(const char *first, const char *second,
			  const char *must_have)
{
	char exe[PATH_MAX], *slash, *path, *file;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	bool found;

	exe[n < 0 ? 0 : n] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	path = join(exe, first);
	file = path ? join(path, must_have) : NULL;
	found = file && access(file, F_OK) == 0;
	free(file);
	if (found)
		return path;
	free(path);
	return join(exe, second);
}

char *default_image_dir(void)
{
	const char *env = getenv("FSD_IMAGE");

	return env && *env ? strdup(env) :
			     near_program("/image", "/../share/fsd/image",
					  "/manifest");
}

/* Returns `tail` in the directory that has the image's directory. */
static char *beside(const char *image, const char *tail)
{
	auto_free char *parent = join(image, "/..");
	auto_free char *full = parent ? realpath(parent, NULL) : NULL;

	/* an image that does not exist has no environments beside it */
	return join(full ? full : parent ? parent : "", tail);
}

int environment_dirs_find(const char *asked, const char *image,
			  struct environment_dirs *ret)
{
	auto_free char *found = image ? strdup(image) : default_image_dir();
	auto_free char *home = NULL;
	const char *env = getenv("FSD_ENVIRONMENTS");
	unsigned n = 0;

	*ret = (struct environment_dirs){ 0 };
	if (!asked && env && *env)
		asked = env;
	if (asked) {
		ret->own[n++] = strdup(asked);
	} else {
		home = in_home("XDG_DATA_HOME", "/.local/share");
		if (home)
			ret->own[n++] = join(home, "/fsd/environments");
		ret->own[n++] = found ? beside(found, "/environments") : NULL;
	}
	for (unsigned i = 0; i < n; i++) {
		ret->places.dirs[i] = ret->own[i];
		if (!ret->own[i]) {
			environment_dirs_done(ret);
			return -ENOMEM;
		}
	}
	return 0;
}

const char *environment_dirs_own(const struct environment_dirs *dirs)
{
	for (unsigned i = ENVIRONMENT_PLACES; i-- > 0;) {
		auto_free char *there = NULL;

		if (dirs->own[i])
			there = existing_path(dirs->own[i]);
		if (there && access(there, W_OK | X_OK) == 0)
			return dirs->own[i];
	}
	return dirs->own[0];
}

void environment_dirs_done(struct environment_dirs *dirs)
{
	for (unsigned i = 0; i < ENVIRONMENT_PLACES; i++)
		free(dirs->own[i]);
	*dirs = (struct environment_dirs){ 0 };
}

char *brought_qemu(void)
{
	static const char program[] = "/usr/bin/qemu-system-x86_64";
	auto_free char *dir = near_program("/qemu", "/../share/fsd/qemu",
					   program);
	char *path = dir ? join(dir, program) : NULL;

	if (path && access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

char *absolute_path(const char *path)
{
	char *copy, *slash, *parent, *full;
	const char *name;

	/* realpath() of a dead mount fails, so resolve only its parent. */
	full = realpath(path, NULL);
	if (full || errno != ENOTCONN)
		return full;
	copy = strdup(path);
	if (!copy)
		return NULL;
	while ((slash = strrchr(copy, '/')) && slash[1] == '\0' && slash != copy)
		*slash = '\0';
	slash = strrchr(copy, '/');
	name = slash ? slash + 1 : copy;
	if (slash)
		*slash = '\0';
	parent = realpath(slash ? (copy[0] ? copy : "/") : ".", NULL);
	full = parent && asprintf(&full, "%s/%s", parent, name) >= 0 ? full
								     : NULL;
	free(parent);
	free(copy);
	return full;
}

char *existing_path(const char *path)
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

int program_beside(const char *name, char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;
	size_t at;

	ret[MAX(n, 0)] = '\0';
	slash = strrchr(ret, '/');
	at = slash ? (size_t)(slash + 1 - ret) : 0;
	if (strlen(name) >= PATH_MAX - at)
		return -ENAMETOOLONG;
	strcpy(ret + at, name);
	return access(ret, X_OK) < 0 ? -errno : 0;
}
