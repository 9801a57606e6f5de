/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper: does through the mount what the daemon says, so that the kernel
 * tells watchers. It is single-threaded, for its requests are known by its pid;
 * holds nothing of the mount when there is nothing to tell; may do nothing
 * that its user could not; and sees no other files.
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

/* --- what it does; the working directory is the job's ---------------------------- */

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

/* The size that is asked for is not the one that it gets. */
static void do_grow(const char *name)
{
	if (truncate(name, 0) < 0) {
		/* nobody is told then; it may be gone */
	}
}

static void open_and_close(const char *name, int flags, bool grew)
{
	int fd = open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0666);

	if (fd >= 0 && grew && write(fd, "", 1) < 0) {
		/* likewise */
	}
	fd_close(&fd);
}

static void do_change(const char *name)
{
	open_and_close(name, O_TRUNC, false);
}

/* Exclusive, or the kernel would ask for the name twice. */
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

/* Return: the answer. */
static uint8_t perform(int root, const struct inotify_message *m)
{
	if (fchdir(root) < 0)
		return 1;
	if (m->remove)
		return rmdir(m->job) < 0;
	/* Outside of the job none of these names may be touched. */
	if (chdir(m->job) < 0)
		return 1;
	for (unsigned i = 0; i < m->count; i++)
		actions[m->steps[i].action](job_vfiles[m->steps[i].vfile].name);
	return 0;
}

/* --- messages ----------------------------------------------------------------------- */

/* A descriptor that comes along replaces *root.
 * Return: false at the end of the daemon. */
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

/* --- rights --------------------------------------------------------------------------- */

/*
 * Its root becomes a directory with nothing that can be opened in it. Without
 * other users the mount lets only the daemon's own in. What a container does
 * not allow is left: capabilities it gives up in any case.
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
	/* A change of user has taken this back. */
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
