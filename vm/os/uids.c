/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases user ids by locks on files below UIDS_DIR. A daemon that is killed holds no lease
 * any more, so no file has to be removed. The caller owns the range and the locks; there
 * is no other state. The jailer and the door use it, each on its only thread.
 */
#include "uids.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"

#define UIDS_MIN 1024u /* use no range with fewer ids */

/*
 * Checks that all ids of [first, first + count) exist in this user namespace.
 * If not, *u becomes the upper half of the largest range, if that is large
 * enough. Return: whether *u is usable.
 */
static bool fit_map(const char *map, struct uid_range *u)
{
	auto_fclose FILE *f = fopen(map, "re");
	uint32_t inside, outside, count, best = 0, best_first = 0;

	while (f && fscanf(f, "%u %u %u", &inside, &outside, &count) == 3) {
		if (u->first >= inside && u->first - inside < count &&
		    count - (u->first - inside) >= u->count)
			return true;
		if (count > best) {
			best = count;
			best_first = inside;
		}
	}
	if (best < 2 * UIDS_MIN)
		return false;
	u->first = best_first + best / 2;
	u->count = best / 2;
	return true;
}

bool uids_fit(struct uid_range *u)
{
	return fit_map("/proc/self/uid_map", u) && fit_map("/proc/self/gid_map", u);
}

int uids_open(struct uid_range *u)
{
	struct stat st;

	mkdir(UIDS_PARENT, 0755);
	mkdir(UIDS_DIR, 0700);
	u->dir = open(UIDS_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (u->dir >= 0 && (fstat(u->dir, &st) < 0 || st.st_uid != 0 ||
			    (st.st_mode & 022))) {
		errno = EPERM;
		fd_close(&u->dir);
	}
	return u->dir < 0 ? -errno : 0;
}

int uids_lease(struct uid_range *u, uid_t *ret, int *ret_lock)
{
	char name[16];

	*ret = 0;
	if (u->dir < 0)
		return 0;
	for (uint32_t tried = 0; tried < u->count; tried++) {
		uid_t uid = u->first + u->next++ % u->count;
		int fd;

		snprintf(name, sizeof(name), "%u", uid);
		fd = openat(u->dir, name, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			    0600);
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
			*ret = uid;
			*ret_lock = fd;
			return 0;
		}
		close(fd);
	}
	return -EUSERS;
}
