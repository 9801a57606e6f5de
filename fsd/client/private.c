/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of a private mount: starts the process that holds the mount, gets a
 * descriptor of its root, and ends that process.
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fsd/local/own_dir.h"
#include "layout/layout.h"
#include "run_say.h"
#include "vm/os/fdpass.h"

/* Starts the holder as a program of its own: the kernel signals it when we die, it has a
 * session of its own, and of our descriptors only `ready`. It shares our standard
 * error. */
static int start_holder(struct private_mount *p, const char *command, int ready,
			bool plain)
{
	char jobs[16];
	const char *const words[] = { "fsd", PRIVATE_COMMAND, command, jobs,
				      plain ? PRIVATE_PLAIN : PRIVATE_SPACE };
	auto_free const char **argv = calloc(ARRAY_SIZE(words) + p->rule_count + 1,
					     sizeof(*argv));
	struct err err = { 0 };

	if (!argv)
		return client_complain(1, "out of memory");
	memcpy(argv, words, sizeof(words));
	if (p->rule_count)
		memcpy(argv + ARRAY_SIZE(words), p->rules,
		       p->rule_count * sizeof(*p->rules));
	snprintf(jobs, sizeof(jobs), "%u", p->jobs);
	if (spawn(&(struct spawn){
			  .argv = argv, .program = "/proc/self/exe",
			  .fds = &ready, .fd_count = 1,
			  .error_fd = STDERR_FILENO,
			  .may_gain = true, /* fusermount3 may mount for it */
			  .parting = PRIVATE_LEAVE,
		  }, &p->holder, &err) < 0)
		return client_complain(1, "%s", err.text);
	return 0;
}

/* Waits for the child. Return: its wait status. */
static int await_end(struct child *c)
{
	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
	int status = 0;

	while (!child_reap(c, &status))
		poll(&p, 1, -1);
	return status;
}

/* Waits for one message of size bytes, and a descriptor if fd is not NULL. Return:
 * 0; -1: the holder has ended, with its sentence on standard error; or 128 + the
 * number of a signal. */
static int await(int ready, int signals, void *room, size_t size, int *fd)
{
	struct pollfd poll_fds[2] = { { .fd = ready, .events = POLLIN },
				      { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	unsigned count = 0;
	int got = -1;

	while (poll(poll_fds, 2, -1) < 0)
		if (errno != EINTR)
			return client_complain(1, "%s", strerror(errno));
	if (poll_fds[1].revents &&
	    read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		return 128 + (int)info.ssi_signo;
	if (fdpass_receive(ready, room, size, &got, 1, &count, 0) !=
		    (ssize_t)size || count != (fd ? 1u : 0u)) {
		if (count)
			close(got);
		return -1;
	}
	if (fd)
		*fd = got;
	return 0;
}

/* Asks for the attributes of the mount's root. Until then the kernel takes root for
 * its owner. In a user namespace without root that owner has no uid, and the kernel
 * lets no process make a file there. */
static void learn_owner(int root)
{
	struct statx st;

	statx(root, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS,
	      &st);
}

/* Waits until the mount answers. Return: as private_start(), or PRIVATE_NO_NAMESPACE. */
static int await_ready(struct private_mount *p, int ready, int signals)
{
	int r = await(ready, signals, p->dir, sizeof(p->dir), NULL), status;
	char byte;

	if (r == 0) {
		p->dir[sizeof(p->dir) - 1] = '\0';
		snprintf(p->mnt, sizeof(p->mnt), "%s" PRIVATE_MNT, p->dir);
		r = await(ready, signals, &byte, 1, &p->root);
	}
	if (r == 0)
		learn_owner(p->root);
	if (r >= 0)
		return r;
	status = await_end(&p->holder);
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status)
							: 1;
}

static int try_start(struct private_mount *p, const char *command, int signals,
		     bool plain)
{
	auto_close int ready = -1, theirs = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return client_complain(1, "%s", strerror(errno));
	ready = pair[0];
	theirs = pair[1];
	r = start_holder(p, command, theirs, plain);
	fd_close(&theirs);
	return r ? r : await_ready(p, ready, signals);
}

int private_start(struct private_mount *p, const char *command, int signals)
{
	int r;

	private_clean();
	r = try_start(p, command, signals, false);
	if (r != PRIVATE_NO_NAMESPACE)
		return r;
	child_end(&p->holder);
	return try_start(p, command, signals, true);
}

void private_stop(struct private_mount *p)
{
	fd_close(&p->root);
	if (p->holder.pid > 0) {
		kill(p->holder.pid, PRIVATE_LEAVE);
		await_end(&p->holder);
	}
	child_end(&p->holder);
	if (p->dir[0])
		private_remove(p->dir); /* the holder did, unless it was killed */
	*p = (struct private_mount)PRIVATE_NONE;
}

/* --- directories of holders that were killed: own_dir.h ---------------------- */

#define UNMOUNT_WAIT_MS 2500

const char *private_base(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && dir[0] == '/' ? dir : "/tmp";
}

/* Unmounts a mount whose service has died. It remains if the holder had no mount
 * namespace of its own. */
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
	own_dir_remove(AT_FDCWD, dir);
}

static void unmount_left(void *arg, const char *name)
{
	char dir[PRIVATE_DIR];

	(void)arg;
	if (snprintf(dir, sizeof(dir), "%s/%s", private_base(), name) < (int)sizeof(dir))
		unmount_dead(dir);
}

void private_clean(void)
{
	auto_close int at = open(private_base(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (at >= 0)
		own_dir_clean(at, PRIVATE_NAME, unmount_left, NULL);
}
