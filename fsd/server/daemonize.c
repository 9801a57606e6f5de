/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the supervisor in the background. Forks once, before there is a
 * thread, a loop or a mount; only this file of the folder forks. Owns no state.
 */
#include "daemonize.h"

#include "fsd/base/complain.h"
#include "fsd/base/daemon_log.h"
#include "fsd/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor.h"
#include "options.h"

/* Closes all but fd: other descriptors (a lock, a pipe's end) belong to the caller.
 * Return: the new number of fd, or negative errno. */
static int keep_only(int fd)
{
	int kept = STDERR_FILENO + 1;

	if (fd != kept && dup2(fd, kept) < 0)
		return -errno;
	return close_range((unsigned)kept + 1, ~0u, 0) < 0 ? -errno : kept;
}

/* Prints that the log cannot be opened, and ends the start: without a log the service
 * would keep the caller's standard error open, and a process that reads it to its end
 * would wait for ever. */
static int no_log(const struct mount_options *options, int error)
{
	return complain("mount", 1, "the log %s/fsd.log cannot be opened: %s",
			options->state_dir, strerror(error));
}

static int child(const struct mount_options *options, int ready_fd)
{
	struct ready ready = { .fd = keep_only(ready_fd) };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), r;

	if (ready.fd < 0)
		return complain("mount", 1, "%s", strerror(-ready.fd));
	fcntl(ready.fd, F_SETFD, FD_CLOEXEC);
	/* ignore an error: daemon_log_open() reports it */
	store_make_dirs(options->state_dir);
	ready.log = daemon_log_open(options->state_dir, DAEMON_LOG_LIMIT);
	if (!ready.log)
		return no_log(options, errno);
	setsid();
	/* hold() redirects standard error when the mount answers. */
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0)
		r = complain("mount", 1, "/dev/null: %s", strerror(errno));
	else
		r = hold(options, &ready);
	daemon_log_close(ready.log);
	return r;
}

static int wait_ready(int fd, pid_t pid)
{
	int status;
	char byte;

	if (read(fd, &byte, 1) == 1)
		return 0;
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	    WEXITSTATUS(status))
		return WEXITSTATUS(status);
	return 1;
}

int hold_in_background(const struct mount_options *options)
{
	int pipefd[2], r;
	pid_t pid;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return complain("mount", 1, "%s", strerror(errno));
	pid = fork();
	if (pid < 0)
		return complain("mount", 1, "%s", strerror(errno));
	if (pid == 0) {
		close(pipefd[0]);
		_exit(child(options, pipefd[1]));
	}
	close(pipefd[1]);
	r = wait_ready(pipefd[0], pid);
	close(pipefd[0]);
	return r;
}
