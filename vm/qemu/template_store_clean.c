/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes templates that no mount needs any more; each has a few hundred MB. It
 * runs when a mount begins and when a template was renewed, on a worker thread.
 * Owns no state.
 *
 * A template's file `of` says what it was made of:
 *
 *   image SHA256 DIR           DIR absolute, without links
 *   environment PATH           a file of its set; only if it has one
 *
 * A template without that file was made by an older fsd, and is removed by its
 * age alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "template_store_int.h"
#include "vm/os/loop.h"
#include "vm/os/temp.h"

#define STALE_S (14 * 24 * 3600)
#define OF_MAX (2 * PATH_MAX + 100)

/* Finds the path of an open file. Return: false: it was removed, or has no
 * path. */
static bool path_of(int fd, char ret[PATH_MAX])
{
	char link[32];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = fd < 0 ? -1 : readlink(link, ret, PATH_MAX - 1);
	if (n < 0)
		return false;
	ret[n] = '\0';
	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Writes the file `of`. A path with a newline in it is left out: it would be
 * read as two lines. */
int template_store_put_of(int dir, const struct template_store_of *of)
{
	auto_free char *image = realpath(of->image_dir, NULL);
	char set[PATH_MAX], text[OF_MAX] = "";
	int n = 0;

	if (image && !strchr(image, '\n'))
		n = snprintf(text, sizeof(text), "image %s %s\n", of->image_id,
			     image);
	if (path_of(of->environment_fd, set) && !strchr(set, '\n'))
		snprintf(text + n, sizeof(text) - (size_t)n, "environment %s\n", set);
	return template_store_write_file(dir, "of", text);
}

/* Returns whether the file does not exist. Only ENOENT and ENOTDIR mean that: a
 * directory that this process may not read can still exist. */
static bool is_gone(const char *dir, const char *name)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	return access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Returns whether the line's image or environment does not exist any more.
 * image: the directory of this mount's image. */
static bool line_is_gone(const char *line, const char *image, const char *image_id)
{
	const char *dir;

	if (!strncmp(line, "environment ", 12))
		return is_gone(line + 12, "");
	if (strncmp(line, "image ", 6))
		return false;
	line += 6;
	dir = strchr(line, ' ');
	if (!dir++)
		return false;
	if (image && !strcmp(dir, image))
		return strncmp(line, image_id, strlen(image_id)) != 0;
	return is_gone(dir, "/manifest");
}

static bool source_is_gone(int dir, const char *image, const char *image_id)
{
	char text[OF_MAX], *at = text, *line;

	if (template_store_read_text(dir, "of", text, sizeof(text)) < 0)
		return false;
	while ((line = strsep(&at, "\n")))
		if (line_is_gone(line, image, image_id))
			return true;
	return false;
}

/* Returns whether no mount has opened the template for a long time. */
static bool is_stale(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 &&
	       st.st_mtim.tv_sec + STALE_S < (time_t)(realtime_ns() / NS_PER_S);
}

static void clean_one(int parent, const char *name, const char *image,
		      const char *image_id)
{
	bool left = is_temp_name(name, NEW_PREFIX) || is_temp_name(name, OLD_PREFIX);
	auto_close int dir = -1;
	bool gone;

	if (!left && !is_temp_name(name, ""))
		return;
	dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return;
	gone = !left && source_is_gone(dir, image, image_id);
	/* Makers and users hold a lock; the kernel drops it when they die. */
	if ((!left && !gone && !is_stale(dir)) || flock(dir, LOCK_EX | LOCK_NB) < 0)
		return;
	if (!left)
		log_info("the template %s is removed: %s", name,
			 gone ? "its image or environment is gone"
			      : "no mount has used it for two weeks");
	template_store_remove_dir(parent, name);
}

void template_store_clean(const char *cache_dir, const char *image_dir, const char *image_id)
{
	auto_free char *image = realpath(image_dir, NULL);
	int parent = template_store_open_parent(cache_dir);
	struct dirent *e;
	DIR *d;

	if (parent < 0)
		return;
	d = fdopendir(parent);
	if (!d) {
		close(parent);
		return;
	}
	while ((e = readdir(d)))
		clean_one(parent, e->d_name, image, image_id);
	closedir(d);
}
