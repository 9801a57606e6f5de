/* SPDX-License-Identifier: Apache-2.0 */
/* Rights that are given up are gone: each case in a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "vm/os/rights.h"
#include "tests/unit/tap.h"

static char dir[] = "/tmp/rights-test.XXXXXX";

/* What a child of ours returns: 0 to 255. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fn());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int confine(bool write)
{
	struct rights_path path = { dir, write };
	int set = rights_landlock(&path, 1);

	if (set < 0)
		return set;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return rights_landlock_enter(set);
}

static int tried(const char *path, int flags)
{
	return open(path, flags, 0600) < 0 ? errno : 0;
}

static int read_outside(void)
{
	return confine(true) < 0 ? 255 : tried("/etc/passwd", O_RDONLY);
}

static int write_outside(void)
{
	return confine(true) < 0 ? 255 :
				   tried("/tmp/rights-outside",
					 O_WRONLY | O_CREAT | O_EXCL);
}

static int write_inside(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/made", dir);
	if (confine(true) < 0)
		return 255;
	if (tried(path, O_WRONLY | O_CREAT | O_EXCL))
		return errno;
	return rename(path, dir) == 0 || unlink(path) < 0;
}

static int write_where_reading_is_allowed(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/made", dir);
	return confine(false) < 0 ? 255 :
				    tried(path, O_WRONLY | O_CREAT | O_EXCL);
}

static int signal_outside(void)
{
	return confine(true) < 0 ? 255 : kill(getppid(), 0) < 0 ? errno : 0;
}

static int signal_allowed(void)
{
	struct rights_path path = { dir, true };
	int set = rights_landlock_signals(&path, 1);

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (set < 0 || rights_landlock_enter(set) < 0)
		return 255;
	return kill(getppid(), 0) < 0 ? errno : 0;
}

static int keep_none(void)
{
	struct stat st;

	if (rights_keep(NULL, 0) < 0)
		return 255;
	return chown(dir, 1, 1) < 0 && stat(dir, &st) == 0 ? errno : 0;
}

static int hand_on(void)
{
	const unsigned caps[] = { CAP_KILL };

	if (rights_hand_on(caps, 1) < 0)
		return 255;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL, 0, 0) *
		       2 +
	       prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0);
}

static int keep_one(void)
{
	static const unsigned caps[] = { CAP_CHOWN };

	if (rights_keep(caps, 1) < 0)
		return 255;
	/* that one works, another is gone */
	return chown(dir, 0, 0) == 0 && chroot("/") < 0 ? errno : 0;
}

static int get_back(void)
{
	static const unsigned caps[] = { CAP_CHOWN };

	if (rights_keep(NULL, 0) < 0 || rights_keep(caps, 1) < 0)
		return 255;
	return chown(dir, 1, 1) < 0 ? errno : 0;
}

static bool has_landlock(void)
{
	int set = rights_landlock(NULL, 0);

	if (set >= 0)
		close(set);
	return set >= 0;
}

int main(void)
{
	struct rights_path nowhere = { "/nowhere", false };

	if (!mkdtemp(dir))
		return 1;
	if (has_landlock()) {
		is_int(rights_landlock(&nowhere, 1), -ENOENT,
		       "a path that is not there is an error");
		is_int(in_child(read_outside), EACCES,
		       "nothing outside is read");
		is_int(in_child(write_outside), EACCES,
		       "nothing outside is made");
		is_int(in_child(write_inside), 0, "inside all is as before");
		is_int(in_child(write_where_reading_is_allowed), EACCES,
		       "where reading is allowed nothing is made");
		ok(in_child(signal_outside) == EPERM ||
			   in_child(signal_outside) == 0,
		   "signals end at the border where the kernel can do it");
		is_int(in_child(signal_allowed), 0, "or cross it where they may");
	} else {
		is_int(rights_landlock(&nowhere, 1), -ENOSYS,
		       "a kernel without Landlock is told apart");
	}
	if (geteuid() == 0) {
		is_int(in_child(keep_none), EPERM, "root without capabilities "
						   "owns no more than its own");
		is_int(in_child(keep_one), EPERM, "one can be kept");
		is_int(in_child(hand_on), 2, "one can be handed on, and no other");
		is_int(in_child(get_back), EPERM, "none comes back");
	}
	rmdir(dir);
	return done_testing();
}
