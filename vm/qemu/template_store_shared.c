/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds templates that an administrator made for all users of a host. They are
 * only read. They are only trusted if no other user can have changed them: the
 * directory and its files belong to root or to this user, and no other user may
 * write them. Their checksums are verified as for our own. Owns no state. All
 * functions run on a worker thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "layout/base/num.h"
#include "template_store.h"
#include "verified.h"

/* Returns whether only root and this user can have written it. */
static bool is_safe(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int check_safe(int dir, struct err *err)
{
	static const char *const names[] = { "meta", "state", "ram" };
	struct stat st;

	if (fstat(dir, &st) < 0 || !is_safe(&st))
		return err_set(err, -EBADMSG, "its directory must be root's or "
			       "this user's, and writable by nobody else");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (fstatat(dir, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode) || !is_safe(&st))
			return err_set(err, -EBADMSG, "its file %s must be "
				       "root's or this user's, and writable by "
				       "nobody else", names[i]);
	return 0;
}

static int open_shared(const char *shared, const char *key,
		       const char *cache_dir, const atomic_bool *cancel,
		       struct stored_template *ret, struct err *err)
{
	auto_close int parent = open(shared, O_RDONLY | O_DIRECTORY |
						     O_CLOEXEC);
	auto_close int dir = -1;
	char name[17];
	int r;

	snprintf(name, sizeof(name), "%.16s", key);
	dir = parent < 0 ? -1 : openat(parent, name, O_RDONLY | O_DIRECTORY |
						     O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return -ENOENT; /* the directory does not exist, or this user may not read
				 * it */
	/* Its maker does not remove it while a process holds this lock. */
	if (flock(dir, LOCK_SH | LOCK_NB) < 0)
		return -ENOENT;
	r = check_safe(dir, err);
	if (r == 0)
		r = template_store_verify(dir, key, cache_dir, cancel, &ret->meta, err);
	if (r == 0)
		ret->dir = take_fd(&dir);
	return r;
}

int template_store_find(const struct vm_options *o, bool own_only, const char *key,
			const atomic_bool *cancel, struct stored_template *ret,
			struct err *err)
{
	int r = template_store_open(o, key, cancel, ret, err);

	ret->shared = false;
	for (size_t i = 0; r == -ENOENT && !own_only && i < VM_SHARED_MAX; i++) {
		struct err why = { 0 };
		int found;

		if (!o->shared[i])
			continue;
		found = open_shared(o->shared[i], key, o->cache_dir, cancel, ret,
				    &why);
		if (found == 0) {
			ret->shared = true;
			return 0;
		}
		if (found == -ECANCELED)
			return err_sys(err, found, "template %.16s", key);
		if (found != -ENOENT)
			log_warn("the template %s/%.16s is not used: %s",
				 o->shared[i], key, why.text);
	}
	return r;
}
