/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks and executes a program, and waits for its end. The first part runs in the child
 * between fork and exec and makes async-signal-safe calls only, for the parent may have
 * other threads.
 *
 * A second pipe reports a failed exec to the parent: exec closes it, so an empty read
 * means success. A struct child owns its pidfd and its pipe.
 */
#include "spawn.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define END_WAIT_MS 3000

/* --- in the child: async-signal-safe calls only ------------------------ */

static void child_fail(int fd, int code)
{
	if (write(fd, &code, sizeof(code)) < 0) {
		/* the parent is gone as well */
	}
	_exit(127);
}

/* Moves the table to 3, 4, ... Each is first duplicated above these numbers, so
 * that none is overwritten. */
static int place_fds(const struct spawn *s, int *status_fd)
{
	int base = SPAWN_FD_FIRST + (int)s->fd_count;
	int moved[SPAWN_FDS_MAX];

	*status_fd = fcntl(*status_fd, F_DUPFD_CLOEXEC, base);
	if (*status_fd < 0)
		return -errno;
	for (unsigned i = 0; i < s->fd_count; i++) {
		moved[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, base);
		if (moved[i] < 0)
			return -errno;
	}
	for (unsigned i = 0; i < s->fd_count; i++)
		if (dup2(moved[i], SPAWN_FD_FIRST + (int)i) < 0)
			return -errno;
	/* exec closes all others */
	if (syscall(SYS_close_range, (unsigned)base, ~0u,
		    4u /* CLOSE_RANGE_CLOEXEC */) < 0)
		return -errno;
	return 0;
}

static int standard_fds(const struct spawn *s, int pipe_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, 0) < 0 ||
	    dup2(s->want_stdout ? pipe_fd : null, 1) < 0 ||
	    dup2(s->error_fd ? s->error_fd : pipe_fd, 2) < 0)
		return -errno;
	return 0;
}

/* If core dumps go to a program of the host, a limit of 0 has no effect, and 1
 * means none. The hard limit may not allow 1. */
int spawn_no_core(void)
{
	struct rlimit none = { 1, 1 };

	if (setrlimit(RLIMIT_CORE, &none) == 0)
		return 0;
	none.rlim_cur = none.rlim_max = 0;
	return setrlimit(RLIMIT_CORE, &none) < 0 ? -errno : 0;
}

static int die_with(pid_t parent, int parting)
{
	if (prctl(PR_SET_PDEATHSIG, parting ? parting : SIGKILL) < 0)
		return -errno;
	return getppid() != parent ? -ESRCH : 0; /* the parent died before prctl() */
}

static int restrain(const struct spawn *s, pid_t parent)
{
	int r = s->outlives ? 0 : die_with(parent, s->parting);

	if (r < 0)
		return r;
	if (setsid() < 0 ||
	    (!s->may_gain && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		return -errno;
	return spawn_no_core();
}

void spawn_reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

__attribute__((noreturn)) static void
child_main(const struct spawn *s, int pipe_fd, int status_fd, pid_t parent)
{
	/* exec never writes through argv; its prototype is older than const */
	char *const *argv = (char *const *)(uintptr_t)s->argv;
	int r;

	spawn_reset_signals();
	r = restrain(s, parent);
	if (r == 0)
		r = standard_fds(s, pipe_fd);
	if (r == 0)
		r = place_fds(s, &status_fd);
	if (r < 0)
		child_fail(status_fd, r);
	execvp(s->program ? s->program : argv[0], argv);
	child_fail(status_fd, -errno);
	_exit(127);
}

/* --- in the parent ----------------------------------------------------- */

/* Waits for the child's exec: it closes the pipe, or the child reports its
 * error. */
static int exec_result(int fd)
{
	int code;
	ssize_t n;

	do
		n = read(fd, &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(code) ? code : 0;
}

int spawn_find(const char *name, char ret[PATH_MAX])
{
	const char *path = getenv("PATH");
	auto_free char *copy = strdup(path ? path : "/usr/bin:/bin");
	char full[PATH_MAX], *save = NULL;

	if (strchr(name, '/'))
		return realpath(name, ret) ? 0 : -errno;
	for (char *dir = strtok_r(copy, ":", &save); dir;
	     dir = strtok_r(NULL, ":", &save)) {
		snprintf(full, sizeof(full), "%s/%s", dir, name);
		if (access(full, X_OK) == 0 && realpath(full, ret))
			return 0;
	}
	return -ENOENT;
}

int spawn(const struct spawn *s, struct child *ret, struct err *err)
{
	auto_close int out = -1, in = -1, status_r = -1, status_w = -1;
	struct child c = { .pidfd = -1, .stderr_fd = -1 };
	pid_t parent = getpid();
	int p[2], r;

	if (s->fd_count > SPAWN_FDS_MAX)
		return err_sys(err, -EINVAL, "%s", s->argv[0]);
	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(err, -errno, "%s", s->argv[0]);
	in = p[0];
	out = p[1];
	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(err, -errno, "%s", s->argv[0]);
	status_r = p[0];
	status_w = p[1];
	fcntl(in, F_SETFL, O_NONBLOCK);
	c.pid = fork();
	if (c.pid < 0)
		return err_sys(err, -errno, "%s", s->argv[0]);
	if (c.pid == 0)
		child_main(s, out, status_w, parent);
	fd_close(&status_w);
	if (!s->error_fd)
		c.stderr_fd = take_fd(&in);
	c.pidfd = (int)syscall(SYS_pidfd_open, c.pid, 0);
	r = c.pidfd < 0 ? -errno : exec_result(status_r);
	if (r < 0) {
		child_end(&c);
		return err_sys(err, r, "%s cannot be started", s->argv[0]);
	}
	*ret = c;
	return 0;
}

bool child_reap(struct child *c, int *ret_status)
{
	int status;
	pid_t pid;

	do
		pid = waitpid(c->pid, &status, WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return false;
	*ret_status = pid > 0 ? status : 0;
	c->pid = 0;
	return true;
}

int child_end(struct child *c)
{
	struct pollfd pfd = { .fd = c->pidfd, .events = POLLIN };
	int status = -1;

	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		if (c->pidfd < 0)
			waitpid(c->pid, &status, 0);
		else if (poll(&pfd, 1, END_WAIT_MS) > 0)
			child_reap(c, &status);
	}
	c->pid = 0;
	fd_close(&c->pidfd);
	fd_close(&c->stderr_fd);
	return status;
}

ssize_t child_read(const struct child *c, char *text, size_t size, int wait_ms)
{
	struct pollfd pfd = { .fd = c->stderr_fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < size - 1) {
		if (poll(&pfd, 1, wait_ms) <= 0)
			return -ETIMEDOUT;
		n = read(c->stderr_fd, text + len, size - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	text[len] = '\0';
	return (ssize_t)len;
}
