/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STATE/lost+found: entries of STATE/jobs that are no jobs. Each gets a directory, which
 * has the entry's name if that consists of plain characters:
 *
 *   NAME/why     what the entry was, why and when it was moved; written before the entry
 *                is moved, so that each entry has a reason
 *   NAME/entry   the entry, unchanged
 *
 * fsd opens `why` only. The operator may repair an entry and move it back while fsd does
 * not run, and may remove it at any time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store.h"
#include "fsd/base/remove_tree.h"
#include "fsd/base/hash.h"

#define NAME_MAX_SHOWN 64
#define SAME_NAME_MAX 10000u
#define WHY_MAX 4096

/* 32 bits, not 0: it becomes a part of an inode number. */
static uint64_t number_of(const char *name)
{
	return (hash_text(name, 0) & UINT32_MAX) | 1;
}

static int open_lost(const struct store *s, bool make)
{
	int root = store_root_fd(s), fd;

	if (make && mkdirat(root, "lost+found", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(root, "lost+found",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static bool is_harmless(const char *name)
{
	size_t len = strlen(name);

	return len <= NAME_MAX_SHOWN && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == len;
}

/* Makes a new directory, name.1, name.2, ... if need be. Return: 0 or negative errno. */
static int make_place(int lost, const char *entry, char name[96])
{
	if (!is_harmless(entry))
		entry = "entry";
	snprintf(name, 96, "%s", entry);
	for (unsigned i = 1; mkdirat(lost, name, 0700) < 0; i++) {
		if (errno != EEXIST || i > SAME_NAME_MAX)
			return -errno;
		snprintf(name, 96, "%s.%u", entry, i);
	}
	return 0;
}

static int write_why(struct store *s, int lost, const char *place,
		     const char *entry, const char *reason)
{
	auto_buf struct buf text = { .cap = WHY_MAX };
	char path[128], when[32];
	auto_close int fd = -1;

	time_render(realtime_ns(), when);
	buf_str(&text, "jobs/");
	utf8_put_plain(&text, entry);
	buf_fmt(&text, " was set aside: %s\nwhen: %s\n", reason, when);
	buf_fmt(&text, "where: %s/lost+found/%s/entry\n", store_dir(s), place);
	if (text.failed)
		return text.failed;
	snprintf(path, sizeof(path), "%s/why", place);
	fd = openat(lost, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text.data, text.len) != (ssize_t)text.len)
		return -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

int store_set_aside(struct store *s, const char *entry, const char *reason)
{
	auto_close int lost = open_lost(s, true);
	char place[96], path[128];
	int r;

	if (lost < 0)
		return lost;
	r = make_place(lost, entry, place);
	if (r < 0)
		return r;
	r = write_why(s, lost, place, entry, reason);
	snprintf(path, sizeof(path), "%s/entry", place);
	if (r == 0 && renameat(store_jobs_fd(s), entry, lost, path) < 0)
		r = -errno;
	if (r < 0)
		remove_tree(lost, place);
	return r;
}

/* --- reading --------------------------------------------------------------- */

/* True if a server died before it moved the entry. */
static bool is_empty(int lost, const char *name)
{
	char path[NAME_MAX + 16];

	snprintf(path, sizeof(path), "%s/entry", name);
	return faccessat(lost, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	       errno == ENOENT;
}

/* Calls fn for each directory that has no entry (empty), or that has one. */
static void each(struct store *s, bool empty,
		 void (*fn)(void *arg, uint64_t no, const char *name),
		 void *arg)
{
	int fd = open_lost(s, false);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(dir)))
		if (is_harmless(e->d_name) && is_empty(fd, e->d_name) == empty)
			fn(arg, number_of(e->d_name), e->d_name);
	closedir(dir);
}

void store_lost_each(struct store *s,
		     void (*fn)(void *arg, uint64_t no, const char *name),
		     void *arg)
{
	each(s, false, fn, arg);
}

struct find {
	uint64_t no;
	char name[NAME_MAX + 1]; /* "": not found */
};

static void on_find(void *arg, uint64_t no, const char *name)
{
	struct find *f = arg;

	if (no == f->no)
		snprintf(f->name, sizeof(f->name), "%s", name);
}

int store_lost_text(struct store *s, uint64_t no, struct buf *out)
{
	auto_close int lost = open_lost(s, false), fd = -1;
	struct find f = { .no = no };
	char path[NAME_MAX + 16], text[WHY_MAX];
	ssize_t n;

	store_lost_each(s, on_find, &f);
	if (lost < 0 || !f.name[0])
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/why", f.name);
	fd = openat(lost, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	return n < 0 ? -errno : buf_add(out, text, (size_t)n);
}

static void on_empty(void *arg, uint64_t no, const char *name)
{
	const int *lost = arg;

	(void)no;
	remove_tree(*lost, name);
}

/* Safe, because this server holds the lock of STATE: no other one is making a directory. */
void store_lost_tidy(struct store *s)
{
	auto_close int lost = open_lost(s, false);

	each(s, true, on_empty, &lost);
}

static void on_count(void *arg, uint64_t no, const char *name)
{
	uint64_t *count = arg;

	(void)no;
	(void)name;
	++*count;
}

uint64_t store_lost_count(struct store *s)
{
	uint64_t count = 0;

	store_lost_each(s, on_count, &count);
	return count;
}
