/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of private mounts, and what is left of those whose processes were
 * all killed at once. A directory is left if its lock is free: see private.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/layout.h"
#include "private.h"

#define UNMOUNT_WAIT_MS 2500

const char *private_base(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && dir[0] == '/' ? dir : "/tmp";
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path); /* what cannot go keeps its directory: found again */
	return 0;
}

/* Takes away a mount whose service has died. A holder without a mount namespace
 * of its own leaves one. */
static void unmount_dead(const char *dir)
{
	char mnt[PRIVATE_PATH];
	const char *argv[] = { "fusermount3", "-u", "-q", "-z", "--", mnt,
			       NULL };
	struct spawn s = { .argv = argv, .may_gain = true };
	struct child c;
	struct stat st;

	snprintf(mnt, sizeof(mnt), "%s" PRIVATE_MNT, dir);
	if (stat(mnt, &st) == 0 || errno != ENOTCONN ||
	    umount2(mnt, MNT_DETACH | UMOUNT_NOFOLLOW) == 0 || geteuid() == 0)
		return;
	if (spawn(&s, &c, NULL) == 0) {
		struct pollfd p = { .fd = c.pidfd, .events = POLLIN };

		poll(&p, 1, UNMOUNT_WAIT_MS);
		child_end(&c);
	}
}

void private_remove(const char *dir)
{
	unmount_dead(dir);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Only this user's, and none whose holder lives. */
static void remove_left(const char *dir)
{
	auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					      O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		private_remove(dir);
}

void private_clean(void)
{
	const char *base = private_base();
	DIR *d = opendir(base);
	struct dirent *e;
	char path[PRIVATE_DIR];

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, PRIVATE_NAME, strlen(PRIVATE_NAME)) &&
		    snprintf(path, sizeof(path), "%s/%s", base, e->d_name) <
			    (int)sizeof(path))
			remove_left(path);
	if (d)
		closedir(d);
}
