/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper's process: does the server's steps through the mount, so that the
 * kernel reports them to watchers. It has one thread, because the server
 * recognizes its requests by its pid. It keeps the mount open only while notes
 * are sent. It has no more rights than its user, and can open no other files.
 */
#include "inotify_int.h"
#include "vm/os/fdpass.h"
#include "vm/os/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

/* --- actions; the working directory is the job's ------------------------ */

static void do_unlink(const char *name)
{
	unlink(name);
}

static void do_make(const char *name)
{
	mknod(name, S_IFREG | 0666, 0);
}

static void do_mkdir(const char *name)
{
	mkdir(name, 0777);
}

/* Causes MODIFY; the server ignores the size. */
static void do_grow(const char *name)
{
	if (truncate(name, 0) < 0) {
		/* the file may be gone; then there is no event */
	}
}

static void open_and_close(const char *name, int flags, bool grew)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0666);

	if (fd >= 0 && grew && write(fd, "", 1) < 0) {
		/* the file may be gone; then there is no event */
	}
	fd_close(&fd);
}

static void do_change(const char *name)
{
	open_and_close(name, O_TRUNC, false);
}

/* O_EXCL: otherwise the kernel would look the name up twice */
static void do_whole(const char *name)
{
	open_and_close(name, O_CREAT | O_EXCL, false);
}

static void do_filled(const char *name)
{
	open_and_close(name, O_CREAT | O_EXCL, true);
}

static void do_close(const char *name)
{
	open_and_close(name, 0, false);
}

static void do_end(const char *name)
{
	open_and_close(name, 0, true);
}

static void (*const actions[])(const char *name) = {
	[INOTIFY_UNLINK] = do_unlink, [INOTIFY_MAKE] = do_make,
	[INOTIFY_MKDIR] = do_mkdir,   [INOTIFY_GROW] = do_grow,
	[INOTIFY_CHANGE] = do_change, [INOTIFY_WHOLE] = do_whole,
	[INOTIFY_FILLED] = do_filled, [INOTIFY_CLOSE] = do_close,
	[INOTIFY_END] = do_end,
};
_Static_assert(ARRAY_SIZE(actions) == INOTIFY_ACTIONS, "each is done");

/* Does the steps. Return: the answer. */
static uint8_t perform(int root, const struct inotify_message *m)
{
	if (fchdir(root) < 0)
		return 1;
	if (m->remove)
		return rmdir(m->job) < 0;
	/* In another directory these names would be other files. */
	if (chdir(m->job) < 0)
		return 1;
	for (unsigned i = 0; i < m->count; i++)
		actions[m->steps[i].action](job_vfiles[m->steps[i].vfile].name);
	return 0;
}

/* --- messages ----------------------------------------------------------------------- */

/* Reads a message. A descriptor with it replaces *root. Return: false when the
 * server has ended. */
static bool receive(int sock, struct inotify_message *m, int *root)
{
	int fd;
	unsigned count;
	ssize_t n = fdpass_receive(sock, m, sizeof(*m), &fd, 1, &count, 0);

	if (count) {
		fd_close(root);
		*root = fd;
	}
	return n == (ssize_t)sizeof(*m);
}

static void let_go(int *root)
{
	if (chdir("/") < 0)
		_exit(1);
	fd_close(root);
}

/* --- rights --------------------------------------------------------------- */

/*
 * Makes its root a directory in which no file can be opened. Without
 * allow-other only fsd's own user may use the mount, so the user stays. If a
 * container forbids some of this, it is skipped, but the capabilities are
 * always dropped.
 */
static int restrain(bool others)
{
	if (geteuid() == 0 && chroot("/proc/self/fdinfo") < 0)
		log_debug("its root stays: %s", strerror(errno));
	if (geteuid() == 0 && others &&
	    (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	     setresuid(NOBODY, NOBODY, NOBODY) < 0))
		log_debug("its user stays: %s", strerror(errno));
	if (chdir("/") < 0 || rights_keep(NULL, 0) < 0)
		return -errno;
	/* the change of user has cleared this setting */
	return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
}

int inotify_helper(int argc, char **argv)
{
	struct inotify_message message = { 0 };
	const int sock = SPAWN_FD_FIRST;
	uint8_t answer;
	int root = -1, r;

	prctl(PR_SET_NAME, "fsd-notify");
	umask(0);
	r = restrain(argc > 1 && !strcmp(argv[1], "other"));
	if (r < 0)
		return 1;
	while (receive(sock, &message, &root)) {
		if (!message.count) {
			let_go(&root);
			continue;
		}
		answer = perform(root, &message);
		if (send(sock, &answer, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	return 0;
}
