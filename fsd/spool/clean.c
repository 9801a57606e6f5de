/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes old results from done and failed. It is asked every round, and looks at some names
 * at a time: a directory may have millions. A result is renamed into run/INSTANCE first, so
 * that no half of it is ever seen.
 *
 * A result is as old as its directory's mtime says: the last file was made in it just before it
 * was published. The time now is the mtime of DIR/status, which is at most a minute old. Both
 * come from one file server, whose clock may differ from that of this host.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/local/tree_copy.h"
#include "spool_int.h"
#include "vm/os/loop.h"

#define EVERY_NS (60 * NS_PER_S)
#define NAMES_MOST 200 /* a round */
#define OLD ".old-"

/* Finds the present time of the file system. Return: false: it is not known. */
static bool find_now(const struct spool *s, time_t *ret)
{
	struct stat st;

	if (fstatat(s->place.dir, "status", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret = st.st_mtime;
	return true;
}

static void remove_result(const struct spool *s, int dir, const char *name)
{
	char old[32];

	snprintf(old, sizeof(old), OLD "%llx", (unsigned long long)now_ns());
	if (renameat(dir, name, s->place.mine, old) == 0)
		tree_remove(s->place.mine, old);
}

/* Looks at some names. Return: true: there may be more. */
static bool clean_some(struct spool *s, struct cleaning *c, uint64_t keep_s, time_t now)
{
	for (int i = 0; i < NAMES_MOST; i++) {
		struct dirent *e = readdir(c->dir);
		struct stat st;

		if (!e)
			return false;
		if (e->d_name[0] != '.' &&
		    fstatat(dirfd(c->dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode) && now - st.st_mtime >= (time_t)keep_s)
			remove_result(s, dirfd(c->dir), e->d_name);
	}
	return true;
}

/* Opens the next directory to clean. Return: false: there is none. */
static bool open_next(const struct spool *s, struct cleaning *c)
{
	const int dirs[] = { s->place.done, s->place.failed };
	const uint64_t keep[] = { s->o->keep_done_s, s->o->keep_failed_s };

	for (; c->next < ARRAY_SIZE(dirs); c->next++) {
		int fd = keep[c->next] ? openat(dirs[c->next], ".", O_RDONLY | O_DIRECTORY |
									   O_CLOEXEC)
				       : -1;

		c->dir = fd < 0 ? NULL : fdopendir(fd);
		if (!c->dir) {
			fd_close(&fd);
			continue;
		}
		c->keep_s = keep[c->next++];
		return true;
	}
	return false;
}

void clean_round(struct spool *s)
{
	struct cleaning *c = &s->cleaning;
	time_t now;

	if (!c->dir && now_ns() >= c->due_ns && !open_next(s, c)) {
		c->next = 0;
		c->due_ns = now_ns() + EVERY_NS;
	}
	if (!c->dir || !find_now(s, &now))
		return;
	if (!clean_some(s, c, c->keep_s, now)) {
		closedir(c->dir);
		c->dir = NULL;
	}
}

void clean_end(struct spool *s)
{
	if (s->cleaning.dir)
		closedir(s->cleaning.dir);
}

uint64_t clean_due_ns(const struct spool *s)
{
	if (!s->o->keep_done_s && !s->o->keep_failed_s)
		return UINT64_MAX;
	return s->cleaning.dir ? 0 : s->cleaning.due_ns;
}

void clean_leftovers(const struct spool *s)
{
	int fd = openat(s->place.mine, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir)
		fd_close(&fd);
	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, OLD, strlen(OLD)))
			tree_remove(s->place.mine, e->d_name);
	if (dir)
		closedir(dir);
}
