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

#include "commands.h"
#include "daemon_log.h"
#include "holder.h"
#include "paths.h"
#include "run_client.h"

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* As a program of its own: it dies with us from its first moment, hears the
 * signals that we do not, and has no descriptor of ours but `ready`. */
static int start_holder(struct private_mount *p, int ready)
{
	char state[96];
	auto_free char *cache = default_state_dir();
	/* Its standard error is the program's; nobody looks at its state
	 * afterwards. */
	const char *argv[] = {
		"fsd", PRIVATE_COMMAND, "--state", state, "--cache", cache,
		"--pool", "0", "--fork", "no", "--log-level", "warn",
		"--durability", "relaxed", "--private", p->mnt, NULL,
	};
	struct err err = { 0 };

	if (!cache)
		return complain("run", 1, "%s", strerror(ENOMEM));
	snprintf(state, sizeof(state), "%s/state", p->dir);
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

/* It gives a byte, or ends with its sentence on standard error. */
static int await_ready(struct private_mount *p, int ready, int signals)
{
	struct pollfd poll_fds[2] = { { .fd = ready, .events = POLLIN },
				      { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	int status;
	char byte;

	while (poll(poll_fds, 2, -1) < 0)
		if (errno != EINTR)
			return complain("run", 1, "%s", strerror(errno));
	if (poll_fds[1].revents &&
	    read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		return 128 + (int)info.ssi_signo;
	if (read(ready, &byte, 1) == 1)
		return 0;
	status = await_end(&p->holder);
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status)
							: 1;
}

int private_start(struct private_mount *p, int signals)
{
	auto_close int ready = -1, theirs = -1;
	int pair[2], r;

	p->holder = (struct child){ .pidfd = -1, .stderr_fd = -1 };
	if (pipe2(pair, O_CLOEXEC) < 0)
		return complain("run", 1, "%s", strerror(errno));
	ready = pair[0];
	theirs = pair[1];
	snprintf(p->dir, sizeof(p->dir), "/tmp/fsd-run-XXXXXX");
	if (!mkdtemp(p->dir)) {
		p->dir[0] = '\0';
		return complain("run", 1, "/tmp: %s", strerror(errno));
	}
	snprintf(p->mnt, sizeof(p->mnt), "%s/mnt", p->dir);
	mkdir(p->mnt, 0700);
	r = start_holder(p, theirs);
	fd_close(&theirs);
	return r ? r : await_ready(p, ready, signals);
}

void private_stop(struct private_mount *p)
{
	if (p->holder.pid > 0) {
		kill(p->holder.pid, SIGTERM);
		await_end(&p->holder);
	}
	child_end(&p->holder);
	nftw(p->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	*p = (struct private_mount){ 0 };
}

int private_main(int argc, char **argv)
{
	struct ready ready = { .fd = SPAWN_FD_FIRST };
	struct mount_options o;
	int r = mount_options_parse(&o, argc, argv);

	prctl(PR_SET_NAME, "fsd");
	fcntl(ready.fd, F_SETFD, FD_CLOEXEC);
	if (r == 0) {
		mkdir(o.state_dir, 0700); /* depot_open() says what is wrong */
		ready.log = daemon_log_open(o.state_dir, DAEMON_LOG_LIMIT);
		r = hold(&o, &ready);
		daemon_log_close(ready.log);
	}
	mount_options_done(&o);
	return r;
}
