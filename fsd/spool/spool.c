/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd spool. A process serves (serve.c), after it has given up all rights but those on
 * DIR and on its mount. If the mount is made again, it is another mount for the kernel,
 * which that process cannot use. So it ends, and this process starts another one.
 */
#include "spool.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "place.h"
#include "serve.h"
#include "fsd/client/run_say.h"
#include "spool_int.h"

static int take_over(const struct spool_options *o)
{
	struct place p = PLACE_NONE;
	struct err err = { 0 };
	int r = place_open(&p, o, &err);

	if (r == 0)
		r = place_take_over(&p, o->take_over, &err);
	if (r >= 0)
		printf("%d entries of %s belong to %s now\n", r, o->take_over, p.instance);
	else
		client_complain(0, "%s", err.text);
	place_close(&p);
	return r >= 0 ? 0 : r == -EINVAL ? 2 : 1;
}

static void wanted_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGCHLD);
}

static void serve(const struct spool_options *o, bool again, pid_t parent)
{
	/* The kernel kills this process when the parent dies; otherwise the lock would
	 * remain. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "fsd-spool");
	exit(spool_serve(o, again));
}

/* Waits for its end, and passes signals on. ret_told: one came. Return: its exit code. */
static int watch_over(pid_t pid, const sigset_t *set, bool *ret_told)
{
	int status;

	for (;;) {
		siginfo_t got;

		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		if (sigwaitinfo(set, &got) < 0 || got.si_signo == SIGCHLD)
			continue;
		*ret_told = true;
		kill(pid, SIGTERM);
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	client_complain(0, "its process was ended by signal %d", WTERMSIG(status));
	return 1;
}

int spool_client(const struct spool_options *o)
{
	const struct timespec pause = { .tv_sec = 1 };
	const pid_t self = getpid();
	bool told = false;
	sigset_t set;
	int code = SERVE_AGAIN;

	if (o->take_over)
		return take_over(o);
	if (geteuid() == 0)
		client_complain(0, "it runs as root, so all jobs are root's");
	wanted_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (bool again = false; code == SERVE_AGAIN && !told; again = true) {
		pid_t pid;

		if (again && sigtimedwait(&set, NULL, &pause) > 0)
			continue;
		fflush(NULL);
		pid = fork();
		if (pid == 0)
			serve(o, again, self);
		if (pid < 0) {
			client_complain(0, "a process cannot be started: %s", strerror(errno));
			return 1;
		}
		code = watch_over(pid, &set, &told);
	}
	return code == SERVE_AGAIN ? 0 : code;
}
