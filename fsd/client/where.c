/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds mounts and jobs by what a user typed. Each error names the typed text, what is
 * there instead, and the remedy; for a wrong name also the nearest one.
 */
#include "where.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fsd/local/beside.h"
#include "which_mount.h"


#define NAMES_MAX 10000 /* names that are compared with a wrong one */

/* --- mounts --------------------------------------------------------------- */

static int no_mount(const char *mnt, int r, struct err *err)
{
	switch (r) {
	case -ENOENT:
	case -ENOTDIR:
		return err_set(err, r, "%s is not a mount of fsd", mnt);
	case -ENOTCONN:
		return err_set(err, r, "%s: the fsd of this mount is dead; "
			       "`umount %s` takes it away", mnt, mnt);
	case -EACCES:
		return err_set(err, r, "%s: Permission denied; if it is a mount "
			       "of another user, that one must mount it with "
			       "--allow-other", mnt);
	default:
		return err_sys(err, r, "%s", mnt);
	}
}

int where_is_mount(const char *mnt, struct err *err)
{
	auto_close int dir = open(mnt, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (dir < 0)
		return errno == ENOENT ?
			       err_set(err, -ENOENT, "%s is not a mount of fsd: "
				       "it does not exist", mnt) :
			       no_mount(mnt, -errno, err);
	/* The kernel tells the type, so no other file system is asked more. */
	if (fstatfs(dir, &fs) < 0)
		return no_mount(mnt, -errno, err);
	if (fs.f_type != FUSE_SUPER_MAGIC)
		return no_mount(mnt, -ENOENT, err);
	if (fstatat(dir, FSD_DIR_NAME "/version", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return no_mount(mnt, -errno, err);
	return S_ISREG(st.st_mode) ? 0 : no_mount(mnt, -ENOENT, err);
}

int where_takes(int at, const char *path, struct err *err)
{
	struct beside b = BESIDE_NONE;
	struct statfs fs;
	struct stat st;
	int r;

	if (fstatfs(at, &fs) < 0)
		return err_sys(err, -errno, "%s", path);
	if (fs.f_type != FUSE_SUPER_MAGIC)
		return 0;
	if (fstatat(at, FSD_DIR_NAME "/version", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(err, -EXDEV, "%s is a mount of fsd, where each directory is "
			       "a job: name a place outside of it", path);
	/* it may be a directory below .fsd, where no file can be made */
	r = openat(at, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = r < 0 ? -errno : beside_begin(&b, r, "try");
	if (r == 0)
		r = beside_make(&b);
	beside_end(&b);
	return r < 0 ? err_sys(err, r, "%s: nothing can be put there", path) : 0;
}

int where_mount(const char *asked, char ret[PATH_MAX], struct err *err)
{
	const char *mnt = which_mount(asked);
	int r;

	if (!mnt)
		return err_set(err, -ENOENT, "there is no mount: give one by "
			       "--mount or $FSD_MOUNT, or mount "
			       SERVICE_MOUNT);
	r = where_is_mount(mnt, err);
	if (r == 0 && !realpath(mnt, ret))
		r = err_sys(err, -errno, "%s", mnt);
	return r;
}

bool where_last_error(int root, const char *name, char *ret, size_t size)
{
	auto_close int fd = openat(root, FSD_DIR_NAME "/last_error",
				   O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

	ret[MAX(n, 0)] = '\0';
	if (!strstr(ret, name))
		ret[0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return ret[0];
}

int where_sandbox(const char *mnt, const char *name, char ret[WHERE_SANDBOX])
{
	if (!name[0] || is_dots(name) || strchr(name, '/') ||
	    strlen(name) > NAME_MAX)
		return -EINVAL;
	snprintf(ret, WHERE_SANDBOX, "%s/" FSD_DIR_NAME "/sandboxes/%s", mnt, name);
	return 0;
}

/* --- the nearest name ------------------------------------------------------ */

/* Finds the name in the mount that is nearest to `name`; ret is "" if none is near
 * enough. */
static void nearest(const char *mnt, const char *name, char ret[NAME_MAX + 1])
{
	unsigned best = NEAR_NOT, seen = 0;
	DIR *dir = opendir(mnt);
	struct dirent *e;

	ret[0] = '\0';
	while (dir && seen++ < NAMES_MAX && (e = readdir(dir))) {
		unsigned score = near_to_name(e->d_name, name);

		if (is_dots(e->d_name) || !strcmp(e->d_name, FSD_DIR_NAME) ||
		    score == NEAR_NOT || score <= best)
			continue;
		best = score;
		memcpy(ret, e->d_name, strlen(e->d_name) + 1);
	}
	if (dir)
		closedir(dir);
}

static int no_job(const char *mnt, const char *name, struct err *err)
{
	char near[NAME_MAX + 1];

	if (strlen(name) > NAME_MAX)
		return err_set(err, -ENAMETOOLONG, "%.40s…: a job's name has at "
			       "most 200 bytes", name);
	nearest(mnt, name, near);
	if (near[0])
		return err_set(err, -ENOENT, "there is no job %s in %s; the "
			       "nearest name is %s", name, mnt, near);
	return err_set(err, -ENOENT, "there is no job %s in %s; `fsd ls --mount "
		       "%s` lists the jobs", name, mnt, mnt);
}

/* --- jobs ------------------------------------------------------------------ */

/* Finds the job of this name in a mount that answers. */
static int take_name(const char *mnt, const char *name, struct job_place *ret,
		     struct err *err)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct stat st;

	if (!strcmp(name, FSD_DIR_NAME))
		return err_set(err, -EINVAL, "%s is the appliance's own "
			       "directory and no job", name);
	if (strlen(name) > NAME_MAX)
		return no_job(mnt, name, err);
	snprintf(ret->mnt, sizeof(ret->mnt), "%s", mnt);
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	where_path(ret, path);
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? no_job(mnt, name, err) :
					 err_sys(err, -errno, "%s", path);
	return 0;
}

/* Makes the error for a path that leads to no job: it says what the path is instead. */
static int no_job_path(const char *text, char *path, struct err *err)
{
	char deep[PATH_MAX], *slash;

	if (where_is_mount(path, NULL) == 0)
		return err_set(err, -EINVAL, "%s is a mount and no job; `fsd ls "
			       "--mount %s` lists its jobs", text, path);
	snprintf(deep, sizeof(deep), "%s", path);
	while ((slash = strrchr(path, '/')) && slash != path) {
		*slash = '\0';
		if (where_is_mount(path, NULL) == 0)
			return err_set(err, -EINVAL, "%s lies in the job "
				       "%s/%.*s; name that", text, path,
				       (int)strcspn(deep + strlen(path) + 1,
						    "/"),
				       deep + strlen(path) + 1);
	}
	return err_set(err, -EINVAL, "%s is not in a mount of fsd; a job is "
		       "named by its path in one, or by its name alone", text);
}

/* Splits a path of an entry: the directory without links, and the last name. */
static int split(const char *text, char dir[PATH_MAX], char name[PATH_MAX])
{
	char copy[PATH_MAX], *slash;
	size_t len = strlen(text);

	if (len >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, text, len + 1);
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	snprintf(name, PATH_MAX, "%s", slash ? slash + 1 : copy);
	if (slash)
		slash[slash == copy] = '\0';
	return realpath(slash ? copy : ".", dir) ? 0 : -errno;
}

static int take_path(const char *text, struct job_place *ret, struct err *err)
{
	char dir[PATH_MAX], name[PATH_MAX], path[PATH_MAX];
	int r = split(text, dir, name);

	/* ".", ".." or a link to a job: resolve it to find the name */
	if (realpath(text, path)) {
		r = split(path, dir, name);
	} else if (errno != ENOENT) {
		return err_sys(err, -errno, "%s", text);
	}
	if (r < 0)
		return err_sys(err, r, "%s", text);
	if (where_is_mount(dir, NULL) == 0)
		return take_name(dir, name, ret, err);
	if (access(text, F_OK) < 0)
		return err_sys(err, -errno, "%s", text);
	return no_job_path(text, path, err);
}

int where_job(const char *asked, const char *text, struct job_place *ret,
	      struct err *err)
{
	char mnt[PATH_MAX];
	int r;

	if (!text[0])
		return err_set(err, -EINVAL, "a job's name is empty");
	if (strchr(text, '/') || is_dots(text))
		return take_path(text, ret, err);
	if (!asked && access(text, F_OK) == 0 &&
	    where_is_mount(".", NULL) == 0)
		return take_path(text, ret, err);
	r = where_mount(asked, mnt, err);
	return r < 0 ? r : take_name(mnt, text, ret, err);
}

void where_path(const struct job_place *job, char ret[PATH_MAX + NAME_MAX + 2])
{
	snprintf(ret, PATH_MAX + NAME_MAX + 2, "%s/%s", job->mnt, job->name);
}

int where_open(const struct job_place *job, struct err *err)
{
	char path[PATH_MAX + NAME_MAX + 2];
	int fd;

	where_path(job, path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : err_sys(err, -errno, "%s", path);
}
