/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and opens the directories of a spool. Results appear by a rename, so all of them
 * must be in one filesystem and in one mount.
 *
 * Each instance has a directory in run, which only its user may enter. There are its
 * claims, the file `.lock`, which its process locks, and the file `.id`: a random prefix
 * of the IDs of its claims. The mount has the jobs of several spools, and an instance
 * removes those of its own prefix only. A copy of DIR has another inode in `.id` than its
 * own, so it gets another prefix.
 */
#include "place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fsd/local/rename.h"

#define FREE_LEAST MIB(64)
#define DROP_MODE 02770
#define DROP_ONLY_MODE 01733
#define RESULT_MODE 02750
#define LOCK ".lock"
#define ID ".id"

/* --- the directories -------------------------------------------------------------- */

static int open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Makes a directory if it is missing, with exactly this mode: the umask has no effect. An
 * existing one keeps its mode unless set. */
static int make_dir(const struct place *p, int at, const char *name, mode_t mode,
		    bool set, int *ret_fd, struct err *err)
{
	bool made = mkdirat(at, name, 0700) == 0;

	if (!made && errno != EEXIST)
		return err_sys(err, -errno, "%s/%s", p->path, name);
	*ret_fd = open_dir(at, name);
	if (*ret_fd < 0)
		return err_sys(err, *ret_fd, "%s/%s", p->path, name);
	if ((made || set) && fchmod(*ret_fd, mode) < 0)
		return err_sys(err, -errno, "%s/%s", p->path, name);
	return 0;
}

static int make_all(struct place *p, const struct spool_options *o, struct err *err)
{
	mode_t drop = o->drop_only ? DROP_ONLY_MODE : DROP_MODE;
	auto_close int tmp = -1;
	struct {
		const char *name;
		mode_t mode;
		bool set;
		int *fd;
	} dirs[] = {
		{ "new", drop, o->drop_only, &p->new },
		{ "tmp", drop, o->drop_only, &tmp },
		{ "run", 0700, false, &p->run },
		{ "done", RESULT_MODE, false, &p->done },
		{ "failed", RESULT_MODE, false, &p->failed },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++)
		r = make_dir(p, p->dir, dirs[i].name, dirs[i].mode, dirs[i].set,
			     dirs[i].fd, err);
	return r;
}

static int check_one_filesystem(const struct place *p, struct err *err)
{
	static const char *const names[] = { "tmp", "run", "done", "failed" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_close int dir = open_dir(p->dir, names[i]);
		int r = dir < 0 ? dir : rename_check(p->new, dir);

		if (r == -EXDEV)
			return err_set(err, r, "%s/%s is on another filesystem "
				       "than %s/new; results appear by rename, which "
				       "needs one", p->path, names[i], p->path);
		if (r < 0)
			return err_sys(err, r, "%s/%s", p->path, names[i]);
	}
	return 0;
}

/* --- the instance ------------------------------------------------------------------ */

static bool is_instance(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789._-");

	return n && n <= INSTANCE_MOST && !name[n] && name[0] != '.';
}

static int find_instance(struct place *p, const char *name, struct err *err)
{
	char host[INSTANCE_MOST + 1] = "";

	if (!name && gethostname(host, sizeof(host) - 1) < 0)
		return err_sys(err, -errno, "the name of this host");
	if (!name)
		name = host;
	if (!is_instance(name))
		return err_set(err, -EINVAL, "\"%s\" cannot be the name of a spool: it "
			       "has 1 to %d of A-Z, a-z, 0-9, \".\", \"_\" and \"-\", and "
			       "does not begin with \".\"; --name gives another one", name,
			       INSTANCE_MOST);
	snprintf(p->instance, sizeof(p->instance), "%s", name);
	return 0;
}

int place_open(struct place *p, const struct spool_options *o, struct err *err)
{
	int r;

	p->path = o->dir;
	p->mask = umask(0);
	umask(p->mask);
	r = find_instance(p, o->name, err);
	if (r < 0)
		return r;
	if (mkdir(o->dir, 0755) < 0 && errno != EEXIST)
		return err_sys(err, -errno, "%s", o->dir);
	p->dir = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0)
		return err_sys(err, -errno, "%s", o->dir);
	r = make_all(p, o, err);
	if (r == 0)
		r = check_one_filesystem(p, err);
	return r ? r : make_dir(p, p->run, p->instance, 0700, false, &p->mine, err);
}

/* Locks the instance. Return: 0, also on a filesystem without locks; -EBUSY: another
 * process has the lock; or another negative errno. */
static int lock_instance(int dir, int *ret_lock)
{
	*ret_lock = openat(dir, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*ret_lock < 0)
		return -errno;
	return flock(*ret_lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -EBUSY : 0;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

/* Reads the prefix. Return: false: this directory has none of its own (a copy has another
 * inode). */
static bool read_prefix(struct place *p)
{
	auto_close int fd = openat(p->mine, ID, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[64] = "", prefix[PLACE_PREFIX];
	uint64_t inode;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || !strchr(text, '\n') ||
	    sscanf(text, "%8[0-9a-f] %" SCNu64, prefix, &inode) != 2 ||
	    strlen(prefix) != PLACE_PREFIX - 1 || inode != inode_of(p->mine))
		return false;
	snprintf(p->prefix, sizeof(p->prefix), "%s-", prefix);
	return true;
}

static int make_prefix(struct place *p)
{
	auto_close int fd = -1;
	uint32_t random;

	if (getentropy(&random, sizeof(random)) < 0)
		return -EIO;
	fd = openat(p->mine, ID, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 || dprintf(fd, "%08x %" PRIu64 "\n", random, inode_of(p->mine)) < 0)
		return -errno;
	snprintf(p->prefix, sizeof(p->prefix), "%08x-", random);
	return 0;
}

int place_lock(struct place *p, struct err *err)
{
	int r = lock_instance(p->mine, &p->lock);

	if (r == -EBUSY)
		return err_set(err, r, "another fsd spool serves %s as %s; --name gives "
			       "this one a name of its own", p->path, p->instance);
	if (r == 0 && !read_prefix(p))
		r = make_prefix(p);
	return r ? err_sys(err, r, "%s/run/%s", p->path, p->instance) : 0;
}

void place_close(struct place *p)
{
	fd_close(&p->dir);
	fd_close(&p->new);
	fd_close(&p->run);
	fd_close(&p->done);
	fd_close(&p->failed);
	fd_close(&p->mine);
	fd_close(&p->lock);
}

bool place_is_low(const struct place *p)
{
	struct statvfs st;

	return fstatvfs(p->dir, &st) == 0 && st.f_blocks &&
	       (uint64_t)st.f_bavail * st.f_frsize < FREE_LEAST;
}

/* --- claims --------------------------------------------------------------- */

bool place_is_claim(const char *name)
{
	return strspn(name, "0123456789abcdef") == PLACE_PREFIX - 1 &&
	       name[PLACE_PREFIX - 1] == '-';
}

static bool is_in_any(const struct place *p, DIR *run, const char *id)
{
	char path[2 * NAME_MAX + 2];
	struct dirent *e;

	rewinddir(run);
	while ((e = readdir(run))) {
		snprintf(path, sizeof(path), "%s/%s", e->d_name, id);
		if (e->d_name[0] != '.' &&
		    faccessat(p->run, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

bool place_has_claim(const struct place *p, const char *id)
{
	int fd = open_dir(p->run, ".");
	DIR *run = fd < 0 ? NULL : fdopendir(fd);
	bool found;

	if (!run) {
		fd_close(&fd);
		return true;
	}
	/* Twice: an instance may be moving it from a directory to one that was read
	 * before. */
	found = is_in_any(p, run, id) || is_in_any(p, run, id);
	closedir(run);
	return found;
}

static int move_claims(const struct place *p, DIR *from)
{
	struct dirent *e;
	int count = 0;

	while (errno = 0, (e = readdir(from))) {
		if (!place_is_claim(e->d_name))
			continue;
		if (renameat(dirfd(from), e->d_name, p->mine, e->d_name) < 0)
			return -errno;
		count++;
	}
	return errno ? -errno : count;
}

int place_take_over(const struct place *p, const char *from, struct err *err)
{
	auto_close int fd = -1, lock = -1;
	DIR *dir;
	int r;

	if (!is_instance(from) || !strcmp(from, p->instance))
		return err_set(err, -EINVAL, "\"%s\" is not the name of another instance",
			       from);
	fd = open_dir(p->run, from);
	if (fd < 0)
		return err_sys(err, fd, "%s/run/%s", p->path, from);
	if (lock_instance(fd, &lock) == -EBUSY)
		return err_set(err, -EBUSY, "the fsd spool that serves %s as %s lives; stop "
			       "it first", p->path, from);
	dir = fdopendir(fd);
	if (!dir)
		return err_sys(err, -errno, "%s/run/%s", p->path, from);
	take_fd(&fd);
	r = move_claims(p, dir);
	closedir(dir);
	return r < 0 ? err_sys(err, r, "%s/run/%s", p->path, from) : r;
}
