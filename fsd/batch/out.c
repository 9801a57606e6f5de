/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, publishes and removes results. A rename of a directory over one that is not
 * empty fails, on NFS as well, so the first instance that publishes a result wins without
 * a lock.
 */
#include "out.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/client/run_say.h"
#include "fsd/local/below.h"
#include "fsd/local/beside.h"
#include "fsd/local/remote.h"
#include "fsd/local/tree_copy.h"
#include "paths.h"

#define FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* --- opening -------------------------------------------------------------- */

/* True if the directory has entries that a batch which has just begun would not have. */
static bool is_foreign(int dir)
{
	int fd = openat(dir, ".", FLAGS);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool foreign = false;
	struct dirent *e;

	while (d && !foreign && (e = readdir(d)))
		foreign = !is_dots(e->d_name) && strcmp(e->d_name, "r") != 0 &&
			  strncmp(e->d_name, "lock", 4) != 0;
	if (d)
		closedir(d);
	else
		fd_close(&fd);
	return foreign;
}

static int failed(const struct out *o)
{
	return client_complain(2, "%s: %s", o->path, strerror(errno));
}

int out_open(struct out *o, const char *path, bool make)
{
	o->path = path;
	if (maker_text(o->maker) < 0)
		return client_complain(2, "%s: /proc does not tell what this process is",
				       path);
	if (make && mkdir(path, 0777) < 0 && errno != EEXIST)
		return failed(o);
	o->dir = open(path, FLAGS);
	if (o->dir < 0 && errno == ENOENT)
		return -ENOENT;
	if (o->dir < 0)
		return failed(o);
	/* Another part may begin now. It writes batch.json first, so look for that last. */
	if (is_foreign(o->dir) && faccessat(o->dir, "batch.json", F_OK, 0) < 0)
		return client_complain(2, "%s has files and no batch.json; give a new "
				       "directory, or that of the batch", path);
	if (make && mkdirat(o->dir, "r", 0777) < 0 && errno != EEXIST)
		return failed(o);
	o->results = openat(o->dir, "r", FLAGS);
	if (o->results < 0 && (make || errno != ENOENT))
		return failed(o);
	o->remote = is_remote(o->dir);
	return 0;
}

/* Opens and locks the file. Return: its descriptor; -EWOULDBLOCK: another process has the
 * lock, and its text is returned; or negative errno. */
static int lock_file(const struct out *o, const char *name, int how, char other[64])
{
	auto_close int fd = openat(o->dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (flock(fd, how | LOCK_NB) < 0) {
		n = errno == EWOULDBLOCK ? pread(fd, other, 63, 0) : 0;
		other[MAX(n, 0)] = '\0';
		other[strcspn(other, "\n")] = '\0';
		return -errno;
	}
	return take_fd(&fd);
}

/* Writes into the lock file which process has the lock; nothing if many may have it. */
static void sign(int fd, int how)
{
	char text[64] = "", host[33] = "";
	int n = 0;

	gethostname(host, sizeof(host) - 1);
	if (how == LOCK_EX)
		n = snprintf(text, sizeof(text), "process %d on %s\n", (int)getpid(),
			     host);
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) < 0) {
		/* a message names no process then */
	}
}

static int lock_failed(const struct out *o, int r, const char *other)
{
	if (r == -EWOULDBLOCK)
		return client_complain(2, "%s is in use by another `fsd batch`%s%s", o->path,
				       *other ? ": " : "", other);
	return client_complain(2, "%s/lock: %s", o->path, strerror(-r));
}

static bool is_elsewhere(const char *other)
{
	const char *on = strstr(other, " on ");
	char host[33] = "";

	gethostname(host, sizeof(host) - 1);
	return on && strcmp(on + strlen(" on "), host) != 0;
}

/*
 * Takes a lock, so that no second batch of this host works on OUT. If a process of
 * another host has it (on NFS), only warns and continues: each result is published once,
 * so two batches do no harm. Slurm needs this: it starts an element again while the node
 * that it gave up still runs it. Return: 0 or the exit code.
 */
static int take_lock(const struct out *o, const char *name, int how, int *ret_fd)
{
	char other[64] = "";
	int r = lock_file(o, name, how, other);

	if (r == -EWOULDBLOCK && is_elsewhere(other)) {
		client_complain(0, "%s: %s works on it, too", o->path, other);
		return 0;
	}
	if (r < 0)
		return lock_failed(o, r, other);
	*ret_fd = r;
	sign(r, how);
	return 0;
}

int out_lock(struct out *o, unsigned part, unsigned parts)
{
	char name[64];
	int r = take_lock(o, "lock", parts > 1 ? LOCK_SH : LOCK_EX, &o->lock);

	if (r || parts == 1)
		return r;
	snprintf(name, sizeof(name), "lock.%u-of-%u", part, parts);
	return take_lock(o, name, LOCK_EX, &o->part_lock);
}

void out_close(struct out *o)
{
	fd_close(&o->part_lock);
	fd_close(&o->lock);
	fd_close(&o->results);
	fd_close(&o->dir);
}

/* --- results -------------------------------------------------------------- */

bool out_has(const struct out *o, const char *path)
{
	return o->results >= 0 &&
	       faccessat(o->results, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int out_result(const struct out *o, const char *path)
{
	int fd = o->results < 0 ? -1 : openat(o->results, path, FLAGS);

	if (fd >= 0)
		return fd;
	return o->results < 0 || errno == ENOTDIR ? -ENOENT : -errno;
}

static void next_name(struct out *o, char name[OUT_TEMPORARY])
{
	snprintf(name, OUT_TEMPORARY, "%.*s%s.%u", (int)strlen(RESULT_TEMPORARY) - 1,
		 RESULT_TEMPORARY, o->maker, o->made++);
}

int out_new(struct out *o, char name[OUT_TEMPORARY])
{
	int fd;

	next_name(o, name);
	if (mkdirat(o->results, name, 0777) < 0)
		return -errno;
	fd = openat(o->results, name, FLAGS);
	return fd < 0 ? -errno : fd;
}

static int sync_below(const struct out *o, const char *path)
{
	auto_close int fd = openat(o->results, path, FLAGS);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int out_sync(const struct out *o, const char *const *name, unsigned count)
{
	int r = 0;

	if (!o->syncs || !count)
		return 0;
	if (!o->remote)
		return syncfs(o->results) < 0 ? -errno : 0;
	for (unsigned i = 0; i < count && r == 0; i++)
		r = sync_below(o, name[i]); /* the copy has synced the files in it */
	return r;
}

/* Makes the parent directories of path. */
static int make_parents(const struct out *o, const char *path)
{
	char copy[PATH_MAX];
	const char *dir;
	int fd;

	snprintf(copy, sizeof(copy), "%s", path);
	below_split(copy, &dir);
	fd = below_make(o->results, dir);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int out_publish(const struct out *o, const char *name, const char *path)
{
	int r = renameat(o->results, name, o->results, path) < 0 ? -errno : 0;

	if (r == -ENOENT) {
		r = make_parents(o, path);
		if (r == 0 && renameat(o->results, name, o->results, path) < 0)
			r = -errno;
	}
	return r == -ENOTEMPTY || r == -ENOTDIR ? -EEXIST : r;
}

int out_sync_dir(const struct out *o, const char *dir)
{
	return o->syncs ? sync_below(o, *dir ? dir : ".") : 0;
}

void out_drop(const struct out *o, const char *name)
{
	tree_remove(o->results, name);
}

int out_remove(struct out *o, const char *path)
{
	char name[OUT_TEMPORARY];

	next_name(o, name);
	if (renameat(o->results, path, o->results, name) < 0)
		return errno == ENOENT ? 0 : -errno;
	out_drop(o, name);
	return 0;
}

/* True if a process of this host made the directory of this name, and has ended. */
static bool is_left(const char *name)
{
	const size_t mark = strlen(RESULT_TEMPORARY) - 1; /* the maker begins with "-" */
	const char *dot = strrchr(name, '.');
	char maker[MAKER_TEXT];
	size_t len;

	if (strncmp(name, RESULT_TEMPORARY, mark + 1) != 0 || dot <= name + mark)
		return false;
	len = (size_t)(dot - name) - mark;
	if (len >= sizeof(maker))
		return false;
	memcpy(maker, name + mark, len);
	maker[len] = '\0';
	return maker_has_ended(maker);
}

void out_clean(struct out *o)
{
	int fd = openat(o->results, ".", FLAGS);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_left(e->d_name))
			out_drop(o, e->d_name);
	if (d)
		closedir(d);
	else
		fd_close(&fd);
}

/* --- files ---------------------------------------------------------------- */

int out_file_begin(struct out *o, char name[OUT_TEMPORARY])
{
	int fd;

	next_name(o, name);
	fd = openat(o->results, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return fd < 0 ? -errno : fd;
}

/* Syncs the file if OUT is synced, and closes it. */
static int end_file(const struct out *o, int fd)
{
	int r = o->syncs && fsync(fd) < 0 ? -errno : 0;

	return close(fd) < 0 && r == 0 ? -errno : r;
}

static int sync_dir(const struct out *o)
{
	return o->syncs && fsync(o->dir) < 0 ? -errno : 0;
}

int out_file_end(struct out *o, int fd, const char *name, const char *as)
{
	int r = end_file(o, fd);

	if (r == 0 && renameat(o->results, name, o->dir, as) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(o->results, name, 0);
	return r < 0 ? r : sync_dir(o);
}

int out_file_link(struct out *o, int fd, const char *name, const char *as)
{
	int r = end_file(o, fd);

	if (r == 0 && linkat(o->results, name, o->dir, as, 0) < 0)
		r = -errno;
	if (r == -EPERM || r == -EOPNOTSUPP || r == -ENOSYS) /* the file system has no
							      * hard links */
		r = rename_fresh(o->results, name, o->dir, as);
	unlinkat(o->results, name, 0);
	return r < 0 ? r : sync_dir(o);
}
