/* SPDX-License-Identifier: Apache-2.0 */
#include "paths.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* dir and tail in one; NULL without memory. */
static char *join(const char *dir, const char *tail)
{
	char *text;

	return asprintf(&text, "%s%s", dir, tail) < 0 ? NULL : text;
}

char *default_state_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (geteuid() == 0)
		return strdup("/var/lib/fsd");
	if (state && state[0] == '/')
		return join(state, "/fsd");
	return join(home ? home : "/tmp", "/.local/state/fsd");
}

static char *if_image(char *dir)
{
	char *manifest = dir ? join(dir, "/manifest") : NULL;
	bool found = manifest && access(manifest, F_OK) == 0;

	free(manifest);
	if (found)
		return dir;
	free(dir);
	return NULL;
}

char *default_image_dir(void)
{
	char exe[PATH_MAX], *slash, *dir;
	const char *env = getenv("FSD_IMAGE");
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (env && *env)
		return strdup(env);
	exe[n < 0 ? 0 : n] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	dir = if_image(join(exe, "/image"));
	return dir ? dir : join(exe, "/../share/fsd/image");
}

char *absolute_path(const char *path)
{
	char *copy, *slash, *parent, *full;
	const char *name;

	/* realpath() of a dead mount fails: resolve only its parent. */
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
