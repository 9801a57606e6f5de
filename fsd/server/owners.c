/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks from the root to the state directory and checks the owner and the mode
 * of each directory on the way. Owns no state; runs before there is a thread.
 */
#include "owners.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/store/store.h"
#include "options.h"
#include "default_dirs.h"

/* The uid by which a user namespace shows all users that it does not map. */
#define OVERFLOW_UID 65534u

static bool in_namespace(void)
{
	FILE *f = fopen("/proc/self/uid_map", "re");
	unsigned first, outside, count = 0;
	bool all = f && fscanf(f, "%u %u %u", &first, &outside, &count) == 3 &&
		   count == UINT_MAX;

	if (f)
		fclose(f);
	return !all;
}

/* Returns the user who became root by sudo(8) and so has all rights of root;
 * else this process's user. Only root's own environment is trusted for that. */
static uid_t behind_root(void)
{
	const char *text = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	uint64_t uid;

	return text && parse_u64(text, 1, UINT32_MAX - 1, &uid) == 0 ?
		       (uid_t)uid : geteuid();
}

static bool is_trusted(uid_t uid)
{
	return uid == geteuid() || uid == 0 || uid == behind_root() ||
	       (uid == OVERFLOW_UID && in_namespace());
}

/* Returns whether the group is the user's own, as useradd(8) makes one for each user. */
static bool is_own_group(gid_t gid)
{
	const struct passwd *user = getpwuid(behind_root());
	const struct group *group = getgrgid(gid);

	return user && group && user->pw_gid == gid &&
	       !strcmp(user->pw_name, group->gr_name) &&
	       (!group->gr_mem[0] || (!strcmp(group->gr_mem[0], user->pw_name) &&
				      !group->gr_mem[1]));
}

static bool others_may_write(const struct stat *st)
{
	return st->st_mode & S_IWOTH ||
	       (st->st_mode & S_IWGRP && st->st_gid != 0 &&
		!is_own_group(st->st_gid));
}

/*
 * Checks one directory. last: it is the state directory. In a parent with the
 * sticky bit only an owner can replace an entry; the check of the next
 * directory finds that owner.
 */
static int look(const char *path, bool last, struct err *err)
{
	const char *what = last ? "the state directory" :
				  "the state directory's parent";
	struct stat st;

	if (stat(path, &st) < 0)
		return err_sys(err, -errno, "%s %s", what, path);
	if (!is_trusted(st.st_uid))
		return err_set(err, -EPERM,
			       "%s %s belongs to uid %u, who can change every job "
			       "and result; it is to belong to uid %u or root: "
			       "choose another one with --state, or give "
			       "--policy permissive", what, path, st.st_uid,
			       geteuid());
	if (others_may_write(&st) && (last || !(st.st_mode & S_ISVTX)))
		return err_set(err, -EPERM,
			       "%s %s can be written by others, mode %03o, who "
			       "can change every job and result; chmod go-w %s, "
			       "choose another one with --state, or give "
			       "--policy permissive", what, path,
			       st.st_mode & 0777, path);
	return 0;
}

/*
 * Checks all directories from the root down, so that each one checked can no
 * longer be replaced. whole: path is the complete state directory, not only a
 * parent.
 */
static int look_at_all(char *path, bool whole, struct err *err)
{
	int r = look("/", whole && !path[1], err);

	for (char *slash = path; r == 0 && path[1] && slash;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		r = look(path, whole && !slash, err);
		if (slash)
			*slash = '/';
	}
	return r;
}

/* Makes the state directory now if any user may create entries in its parent:
 * another user could make it first. The check of it follows. */
static int make_early(const char *dir, const char *parent, struct err *err)
{
	struct stat st;
	int r = 0;

	if (stat(parent, &st) == 0 && others_may_write(&st))
		r = store_make_dirs(dir);
	return r < 0 ? err_sys(err, r, "the state directory %s cannot be made",
			       dir)
		     : r;
}

int owners_check(const struct mount_options *o, struct err *err)
{
	auto_free char *there = existing_path(o->state_dir), *path = NULL;
	bool made;
	int r;

	if (!there)
		return err_sys(err, -errno, "the state directory %s",
			       o->state_dir);
	path = realpath(o->state_dir, NULL);
	made = path != NULL;
	r = look_at_all(made ? path : there, made, err);
	if (r == 0 && !made)
		r = make_early(o->state_dir, there, err);
	if (r == 0 && !made && (path = realpath(o->state_dir, NULL)))
		r = look_at_all(path, true, err);
	if (r == -EPERM && o->vm.permissive) {
		log_warn("%s", err->text);
		r = 0;
	}
	return r;
}
