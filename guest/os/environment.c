/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the variables of the environment once, at the start, and copies its caches to a
 * tmpfs that the user may write. The variables then stay as they are, and
 * environment_vars() gives them to everyone who starts a program.
 */
#include "environment.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "sys.h"
#include "guest/wire/wire.h"

#define ENV_FILE ENVIRONMENT_DIR "/env"
#define CACHE_FROM ENVIRONMENT_DIR "/cache"
#define CACHE_TO "/var/cache/user"
#define CACHE_OPTIONS "mode=0755,uid=1000,gid=1000,size=64m,nr_inodes=4k"
#define WALK_FDS 16

static const char *const base[] = {WIRE_BASE_ENV};
static struct environment_vars vars;

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && !strncmp(a, b, n);
}

static bool is_set(const struct environment_vars *v, const char *text)
{
	for (uint32_t i = 0; i < v->count; i++)
		if (same_name(v->item[i], text))
			return true;
	return false;
}

/* Splits the text into lines. Return: 0 or -EINVAL, -E2BIG. */
static int take_lines(char *text, struct environment_vars *v)
{
	char *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));) {
		if (!*line)
			continue;
		if (v->count == ENVIRONMENT_LINES_MAX)
			return -E2BIG;
		if (!strchr(line, '=') || line[0] == '=')
			return -EINVAL;
		v->item[v->count++] = line;
	}
	return 0;
}

/* Inserts the base variables that the environment does not set itself, in front of the
 * environment's own. */
static void put_base(struct environment_vars *v)
{
	const char *first[ARRAY_SIZE(base)];
	uint32_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(base); i++)
		if (!is_set(v, base[i]))
			first[n++] = base[i];
	memmove(v->item + n, v->item, v->count * sizeof(*v->item));
	memcpy(v->item, first, n * sizeof(*v->item));
	v->own = v->count;
	v->count += n;
}

int environment_parse(char *text, size_t size, struct environment_vars *ret)
{
	struct environment_vars v = {.text = text};
	int r = strlen(text) == size ? 0 : -EINVAL;

	v.item = calloc(ENVIRONMENT_LINES_MAX + ARRAY_SIZE(base),
			sizeof(*v.item));
	if (!v.item)
		r = -ENOMEM;
	if (!r)
		r = take_lines(text, &v);
	if (r) {
		environment_vars_done(&v);
		return r;
	}
	put_base(&v);
	*ret = v;
	return 0;
}

void environment_vars_done(struct environment_vars *v)
{
	free(v->item);
	free(v->text);
	*v = (struct environment_vars){0};
}

const struct environment_vars *environment_vars(void)
{
	return &vars;
}

/* Reads the file into a buffer of size bytes. Return: bytes or -errno. */
static ssize_t read_text(char *room, size_t size)
{
	auto_close int fd = open(ENV_FILE, O_RDONLY | O_CLOEXEC);
	size_t at = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	while (at < size) {
		ssize_t n = read(fd, room + at, size - at);

		if (n < 0)
			return -errno;
		if (!n)
			return (ssize_t)at;
		at += (size_t)n;
	}
	return -E2BIG;
}

static int read_vars(struct err *err)
{
	char *text = calloc(1, ENVIRONMENT_TEXT_MAX + 1);
	ssize_t n = text ? read_text(text, ENVIRONMENT_TEXT_MAX) : -ENOMEM;
	int r = n < 0 ? (int)n : 0;

	if (r)
		free(text);
	else
		r = environment_parse(text, (size_t)n, &vars);
	return r ? err_sys(err, r, "cannot use %s", ENV_FILE) : 0;
}

static int copy_file(const char *from, const char *to, const struct stat *st)
{
	const struct timespec times[] = {st->st_mtim, st->st_mtim};
	auto_close int in = open(from, O_RDONLY | O_CLOEXEC);
	auto_close int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				  0644);

	if (in < 0 || out < 0 || fchown(out, USER_ID, USER_ID))
		return -errno;
	for (off_t at = 0; at < st->st_size;) {
		ssize_t n = sendfile(out, in, &at, (size_t)(st->st_size - at));

		if (n <= 0)
			return n ? -errno : -EIO;
	}
	return futimens(out, times) ? -errno : 0;
}

/* Copies one entry of the cache; the top itself is the mount. */
static int copy_entry(const char *from, const struct stat *st, int kind,
		      struct FTW *at)
{
	char to[512];
	int n = snprintf(to, sizeof(to), "%s%s", CACHE_TO,
			 from + strlen(CACHE_FROM));

	if (n >= (int)sizeof(to))
		return -ENAMETOOLONG;
	if (kind == FTW_F && S_ISREG(st->st_mode))
		return copy_file(from, to, st);
	if (kind != FTW_D || !at->level)
		return 0;
	return mkdir(to, 0755) || chown(to, USER_ID, USER_ID) ? -errno : 0;
}

static int copy_cache(struct err *err)
{
	int r;

	if (access(CACHE_FROM, F_OK))
		return 0;
	if (mount("tmpfs", CACHE_TO, "tmpfs", MS_NOSUID | MS_NODEV,
		  CACHE_OPTIONS))
		return err_sys(err, -errno, "cannot mount a tmpfs on %s",
			       CACHE_TO);
	r = nftw(CACHE_FROM, copy_entry, WALK_FDS, FTW_PHYS);
	if (r)
		return err_sys(err, r == -1 ? -errno : r, "cannot copy %s to %s",
			       CACHE_FROM, CACHE_TO);
	return 0;
}

int environment_open(struct err *err)
{
	int r = read_vars(err);

	return r ? r : copy_cache(err);
}
