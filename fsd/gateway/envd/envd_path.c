/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates paths of a machine to paths of the mount: /home/user is below
 * files/, all others below root/. Resolves ".." as text, so the mount never
 * gets one. On workers.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "envd.h"

/*
 * Appends the parts of text to an absolute path that has no slash at its end.
 */
static int add_parts(char path[PATH_MAX], const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "/"), at = strlen(path);

		if (len == 2 && !memcmp(text, "..", 2)) {
			char *slash = strrchr(path, '/');

			if (slash)
				*slash = '\0';
		} else if (len && !(len == 1 && *text == '.')) {
			if (len > NAME_MAX || at + len + 2 > PATH_MAX)
				return -ENAMETOOLONG;
			path[at] = '/';
			memcpy(path + at + 1, text, len);
			path[at + 1 + len] = '\0';
		}
		text += len + (text[len] == '/');
	}
	return 0;
}

int envd_resolve(const char *sandbox, const char *text, struct envd_path *ret)
{
	size_t home = strlen(HOME);
	const char *rest;
	int r;

	snprintf(ret->sandbox, sizeof(ret->sandbox), "%s", sandbox);
	snprintf(ret->path, sizeof(ret->path), "%s", *text == '/' ? "" : HOME);
	if (*text == '~' && (!text[1] || text[1] == '/'))
		text++;
	r = add_parts(ret->path, text);
	if (r < 0)
		return r;
	ret->home = !strncmp(ret->path, HOME, home) &&
		    (!ret->path[home] || ret->path[home] == '/');
	rest = ret->path + (ret->home ? home : 0);
	snprintf(ret->mount, sizeof(ret->mount), SANDBOXES "/%s/%s%s", sandbox,
		 ret->home ? "files" : "root", rest);
	if (!*ret->path)
		strcpy(ret->path, "/");
	return 0;
}

const char *envd_name(const struct envd_path *p)
{
	const char *slash = strrchr(p->path, '/');

	return slash[1] ? slash + 1 : p->path;
}

int envd_make_parents(struct gateway *g, const struct envd_path *p,
		      struct err *err)
{
	char path[sizeof(p->mount)];
	char *slash;
	int r = 0, fd;

	snprintf(path, sizeof(path), "%s", p->mount);
	slash = strrchr(path, '/');
	*slash = '\0';
	/* usually they exist */
	fd = mount_file(&g->mount, path, O_PATH | O_DIRECTORY, NULL);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	/* .fsd/sandboxes/NAME/files is there; make the directories below */
	slash = path + strlen(SANDBOXES) + SANDBOX_NAME + 1;
	while (r == 0 && (slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		r = mount_mkdir_mode(&g->mount, path, 0755, err);
		if (r == -EEXIST || r == -EROFS || r == -EACCES)
			r = 0; /* the next call reports it */
		*slash = '/';
	}
	if (r == 0)
		r = mount_mkdir_mode(&g->mount, path, 0755, err);
	return r == -EEXIST ? 0 : r;
}
