/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of a sandbox in the form of the calls: name, type, size, mode, owner
 * and time. The mount has no owners of files, so the owner follows from the
 * path. Pure.
 */
#include <errno.h>
#include <string.h>

#include "envd.h"
#include "layout/base/num.h"

/* A directory's size in the machine. */
#define DIR_SIZE 4096

/* Returns whether the path is in a directory of the image outside of the home
 * that belongs to the machine's user. */
static bool is_users(const struct envd_path *p)
{
	static const char *const tops[] = { "/tmp", "/workspace", "/code" };
	bool is = p->home;

	for (size_t i = 0; !is && i < ARRAY_SIZE(tops); i++) {
		size_t len = strlen(tops[i]);

		is = !strncmp(p->path, tops[i], len) &&
		     (!p->path[len] || p->path[len] == '/');
	}
	return is;
}

static void show_mode(mode_t mode, char ret[11])
{
	static const char letters[] = "rwxrwxrwx";

	ret[0] = S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : '-';
	for (unsigned i = 0; i < 9; i++)
		ret[i + 1] = mode & (0400u >> i) ? letters[i] : '-';
	ret[10] = '\0';
}

static const char *type_of(mode_t mode)
{
	return S_ISDIR(mode) ? "FILE_TYPE_DIRECTORY"
	       : S_ISREG(mode) ? "FILE_TYPE_FILE"
	       : S_ISLNK(mode) ? "FILE_TYPE_SYMLINK"
			       : "FILE_TYPE_UNSPECIFIED";
}

json_t *envd_entry(const struct envd_path *p, const struct stat *st)
{
	const char *name = envd_name(p);
	const char *owner = is_users(p) ? "user" : "root";
	char size[24], mode[11], time[32];

	snprintf(size, sizeof(size), "%lld", S_ISDIR(st->st_mode)
		 ? (long long)DIR_SIZE : (long long)st->st_size);
	show_mode(st->st_mode, mode);
	text_time((int64_t)st->st_mtim.tv_sec * 1000 +
		  st->st_mtim.tv_nsec / 1000000, time);
	return json_pack(
		"{s:o, s:s, s:o, s:s, s:i, s:s, s:s, s:s, s:s}", "name",
		text_string(name, strlen(name)), "type", type_of(st->st_mode),
		"path", text_string(p->path, strlen(p->path)), "size", size,
		"mode", (int)(st->st_mode & 07777), "permissions", mode,
		"owner", owner, "group", owner, "modifiedTime", time);
}

void envd_list_failed(struct request *r, int code)
{
	char text[64];

	snprintf(text, sizeof(text), "there are more than %u entries", ENTRIES_MAX);
	reply_failure(r, code, code == -EDQUOT ? text
		      : "the lists of this client take as much memory as they may; ask "
			"for less of the tree, or again when others are done");
}
