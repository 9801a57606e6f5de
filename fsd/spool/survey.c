/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examines one entry of a spool: a file by stat(2), a directory with all that is in it.
 * It works by descriptors of directories and single names, and follows no link, so that
 * the owner of an entry cannot lead it elsewhere by a rename. A file is opened without
 * waiting, and only after stat(2) has said that it is one. POSIX alone, but for the
 * leases.
 */
#include "survey.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fsd/local/remote.h"
#include "layout/layout.h"

/* --- hashes ----------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 32);
}

static uint64_t mix_name(uint64_t hash, const char *name)
{
	for (; *name; name++)
		hash = mix(hash, (unsigned char)*name);
	return mix(hash, '/');
}

static uint64_t mix_time(uint64_t hash, const struct timespec *t)
{
	return mix(mix(hash, (uint64_t)t->tv_sec), (uint64_t)t->tv_nsec);
}

static uint64_t hash_content(const struct stat *st)
{
	return mix_time(mix(1, (uint64_t)st->st_size), &st->st_mtim);
}

/* Hashes a file below the entry, by a path that a rename of the entry does not change. */
static uint64_t hash_below(uint64_t parent, const char *name, const struct stat *st)
{
	uint64_t hash = mix(mix_name(parent, name), (uint64_t)st->st_ino);

	hash = mix(hash, st->st_mode & S_IFMT);
	return S_ISDIR(st->st_mode)
		       ? hash : mix_time(mix(hash, hash_content(st)), &st->st_ctim);
}

/* --- files ------------------------------------------------------------------ */

/* Notes the path of an error, unless one is noted already. Return: r. */
static int failed(struct survey *s, int r, const char *path)
{
	if (!s->path[0])
		snprintf(s->path, sizeof(s->path), "%s", path);
	return r;
}

static int open_name(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
					   O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

static int survey_file(struct survey *s, int dir, const char *name, struct stat *st,
		       const char *path)
{
	auto_close int fd = open_name(dir, name, 0);

	if (fd < 0)
		return failed(s, fd, path);
	if (s->is_remote)
		remote_refresh(fd);
	if (fstat(fd, st) < 0)
		return failed(s, -errno, path);
	if (S_ISREG(st->st_mode) && s->ask_writers)
		s->writer = MAX(s->writer, s->is_remote ? WRITER_UNKNOWN : lease_ask(fd));
	return 0;
}

static void note_odd(struct survey *s, mode_t mode, const char *path)
{
	if (s->odd)
		return;
	s->odd = mode & S_IFMT;
	snprintf(s->path, sizeof(s->path), "%s", path);
}

/* --- directories ------------------------------------------------------------ */

struct level {
	int depth;
	uint64_t hash;
	const char *path;
};

static int survey_list(struct survey *s, int fd, const struct level *at);

static int survey_below(struct survey *s, int dir, const char *name,
			const struct level *above)
{
	char path[SURVEY_PATH];
	struct level here = { .depth = above->depth + 1, .path = path };
	struct stat st;
	int r = 0;

	snprintf(path, sizeof(path), "%s/%s", above->path, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(s, -errno, path);
	if (S_ISREG(st.st_mode))
		r = survey_file(s, dir, name, &st, path);
	else if (!S_ISDIR(st.st_mode))
		note_odd(s, st.st_mode, path);
	if (r < 0)
		return r;
	if (here.depth == 1 && S_ISREG(st.st_mode) && code_kind(name) != CODE_NO)
		s->has_code = true;
	here.hash = hash_below(above->hash, name, &st);
	/* a sum: the order of readdir(3) may change */
	s->sight.content += here.hash;
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (here.depth >= SURVEY_DEPTH)
		return failed(s, -ENAMETOOLONG, path);
	r = open_name(dir, name, O_DIRECTORY);
	return r < 0 ? failed(s, r, path) : survey_list(s, r, &here);
}

/* Surveys the entries of a directory. fd: owned. If a file is removed during this call,
 * the entry counts as one that is being written. */
static int survey_list(struct survey *s, int fd, const struct level *at)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!d) {
		r = failed(s, -errno, at->path);
		fd_close(&fd);
		return r;
	}
	while (errno = 0, r == 0 && (e = readdir(d))) {
		if (is_dots(e->d_name))
			continue;
		r = survey_below(s, dirfd(d), e->d_name, at);
		if (r == -ENOENT) {
			s->path[0] = '\0';
			s->sight.content = mix(s->sight.content, s->sight.ino);
			s->writer = WRITER_OPEN;
			r = 0;
		}
	}
	if (r == 0 && errno)
		r = failed(s, -errno, at->path);
	closedir(d);
	return r;
}

static int survey_dir(struct survey *s, int dir, const char *name)
{
	struct level top = { .path = name };
	struct stat st;
	int fd = open_name(dir, name, O_DIRECTORY);

	if (fd < 0)
		return failed(s, fd, name);
	if (fstat(fd, &st) == 0)
		s->sight.ino = st.st_ino;
	if (s->ready)
		s->has_ready = fstatat(fd, s->ready, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (s->deep)
		return survey_list(s, fd, &top);
	fd_close(&fd);
	return 0;
}

/* --- all of it -------------------------------------------------------------- */

int survey_take(struct survey *s, int dir, const char *name)
{
	struct stat st;
	int r = 0;

	s->is_remote = is_remote(dir);
	s->writer = s->ask_writers ? WRITER_NONE : WRITER_UNKNOWN;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(s, -errno, name);
	s->sight = (struct sight){ .type = st.st_mode & S_IFMT, .dev = st.st_dev,
				   .ino = st.st_ino };
	if (S_ISDIR(st.st_mode))
		return survey_dir(s, dir, name);
	if (S_ISREG(st.st_mode))
		r = survey_file(s, dir, name, &st, name);
	else
		note_odd(s, st.st_mode, name);
	s->sight.type = st.st_mode & S_IFMT;
	s->sight.ino = st.st_ino;
	s->sight.content = hash_content(&st);
	s->sight.changed = mix_time(1, &st.st_ctim);
	return r;
}

bool sight_same_content(const struct sight *a, const struct sight *b)
{
	return a->type == b->type && a->dev == b->dev && a->ino == b->ino &&
	       a->content == b->content;
}

bool sight_same(const struct sight *a, const struct sight *b)
{
	return sight_same_content(a, b) && a->changed == b->changed;
}

const char *survey_type_name(mode_t type)
{
	static const struct {
		mode_t type;
		const char *name;
	} names[] = {
		{ S_IFLNK, "a symbolic link" },  { S_IFIFO, "a FIFO" },
		{ S_IFSOCK, "a socket" },        { S_IFCHR, "a device" },
		{ S_IFBLK, "a device" },         { S_IFDIR, "a directory" },
		{ S_IFREG, "a file" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].type == type)
			return names[i].name;
	return "of a type that fsd does not know";
}
