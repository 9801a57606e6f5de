/* SPDX-License-Identifier: Apache-2.0 */
/* A private mount in a temporary directory; templates are kept in the usual
 * place, so that only the first one has to boot a machine. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fsd/cli/commands.h"
#include "fsd/base/daemon_log.h"
#include "fsd/server/holder.h"
#include "fsd/server/paths.h"
#include "run_client.h"

#define MNT "/mnt"
#define PRIVATE_PATH (PRIVATE_DIR + 16)

/* --- who asks for it ---------------------------------------------------- */

/* As a program of its own: it dies with us from its first moment, hears the
 * signals that we do not, and has no descriptor of ours but `ready`. Its standard
 * error is the program's. */
static int start_holder(struct private_mount *p, int ready)
{
	static const char *const argv[] = { "fsd", PRIVATE_COMMAND, NULL };
	struct err err = { 0 };

	if (spawn(&(struct spawn){
			  .argv = argv, .program = "/proc/self/exe",
			  .fds = &ready, .fd_count = 1,
			  .error_fd = STDERR_FILENO,
			  .may_gain = true, /* fusermount3 mounts for it */
			  .parting = SIGTERM,
		  }, &p->holder, &err) < 0)
		return complain("run", 1, "%s", err.text);
	return 0;
}

/* Return: its wait status. */
static int await_end(struct child *c)
{
	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };
	int status = 0;

	while (!child_reap(c, &status))
		poll(&p, 1, -1);
	return status;
}

/* size bytes that it gives as one. Return: 0, -1: it has ended, with its sentence
 * on standard error; or 128 + the number of a signal. */
static int await(int ready, int signals, void *room, size_t size)
{
	struct pollfd poll_fds[2] = { { .fd = ready, .events = POLLIN },
				      { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo info;

	while (poll(poll_fds, 2, -1) < 0)
		if (errno != EINTR)
			return complain("run", 1, "%s", strerror(errno));
	if (poll_fds[1].revents &&
	    read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		return 128 + (int)info.ssi_signo;
	return read(ready, room, size) == (ssize_t)size ? 0 : -1;
}

static int await_ready(struct private_mount *p, int ready, int signals)
{
	int r = await(ready, signals, p->dir, sizeof(p->dir)), status;
	char byte;

	if (r == 0) {
		snprintf(p->mnt, sizeof(p->mnt), "%s" MNT, p->dir);
		r = await(ready, signals, &byte, 1);
	}
	if (r >= 0)
		return r;
	status = await_end(&p->holder);
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status)
							: 1;
}

int private_start(struct private_mount *p, int signals)
{
	auto_close int ready = -1, theirs = -1;
	int pair[2], r;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return complain("run", 1, "%s", strerror(errno));
	ready = pair[0];
	theirs = pair[1];
	r = start_holder(p, theirs);
	fd_close(&theirs);
	return r ? r : await_ready(p, ready, signals);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_dir(const char *dir)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

void private_stop(struct private_mount *p)
{
	if (p->holder.pid > 0) {
		kill(p->holder.pid, SIGTERM);
		await_end(&p->holder);
	}
	child_end(&p->holder);
	if (p->dir[0])
		remove_dir(p->dir); /* it does, unless somebody has killed it */
	*p = (struct private_mount)PRIVATE_NONE;
}

/* --- who holds it ------------------------------------------------------- */

/* Nobody looks at its state afterwards. */
static int hold_in(const char *dir, struct ready *ready)
{
	char state[PRIVATE_PATH], mnt[PRIVATE_PATH];
	auto_free char *cache = default_state_dir();
	const char *argv[] = {
		PRIVATE_COMMAND, "--state", state, "--cache", cache,
		"--pool", "0", "--fork", "no", "--log-level", "warn",
		"--durability", "relaxed", "--private", mnt, NULL,
	};
	struct mount_options o;
	int r;

	if (!cache)
		return complain("run", 1, "%s", strerror(ENOMEM));
	snprintf(state, sizeof(state), "%s/state", dir);
	snprintf(mnt, sizeof(mnt), "%s" MNT, dir);
	mkdir(mnt, 0700);
	r = mount_options_parse(&o, ARRAY_SIZE(argv) - 1,
				(char **)(uintptr_t)argv);
	if (r == 0) {
		ready->log = daemon_log_open(o.state_dir, DAEMON_LOG_LIMIT);
		r = hold(&o, ready);
		daemon_log_close(ready->log);
	}
	mount_options_done(&o);
	return r;
}

/* Whoever asked for it may be killed at any moment: it is ours to make and to
 * remove. */
int private_main(int argc, char **argv)
{
	char dir[PRIVATE_DIR] = "/tmp/fsd-run-XXXXXX";
	struct ready ready = { .fd = SPAWN_FD_FIRST };
	sigset_t term;
	int r = 1;

	(void)argc;
	(void)argv;
	prctl(PR_SET_NAME, "fsd");
	fcntl(ready.fd, F_SETFD, FD_CLOEXEC);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL); /* until hold() hears it */
	if (!mkdtemp(dir))
		return complain("run", 1, "/tmp: %s", strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	if (write(ready.fd, dir, sizeof(dir)) == (ssize_t)sizeof(dir))
		r = hold_in(dir, &ready);
	remove_dir(dir);
	return r;
}
