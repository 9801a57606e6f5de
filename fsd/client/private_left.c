/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of private mounts, and what is left of those whose processes were
 * all killed at once: see own_dir.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/local/own_dir.h"
#include "layout/layout.h"
#include "private.h"

#define UNMOUNT_WAIT_MS 2500

const char *private_base(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && dir[0] == '/' ? dir : "/tmp";
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
	own_dir_remove(dir);
}

void private_clean(void)
{
	own_dir_clean(private_base(), PRIVATE_NAME, unmount_dead);
}
