/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a runner's process, in an order that matters:
 *   1 its control group, while it may still write there
 *   2 session, signals, descriptors, limits
 *   3 no privilege and no way back: bounding set, securebits, groups, ids,
 *     capabilities, no_new_privs
 *   4 the filter of system calls
 *   5 the interpreter, or the wait of the EXEC runner
 * A step that fails ends the child: then the runner never gets ready, and init
 * reports that, with the child's message from standard error. All functions run
 * in the child.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "guest/os/environment.h"
#include "guest/os/filter.h"
#include "warmup_program.h"
#include "guest/os/sys.h"
#include "runner_kind.h"

#define PROGRAM_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
#define MESSAGE_MAX (2u * WIRE_JOB_MAX)
#define HELPER_LAST_FD 8
#define EXIT_NOT_FOUND 127
#define EXIT_CANNOT_RUN 126

_Noreturn static void fail(const char *what)
{
	dprintf(STDERR_FILENO, "runner: %s: %s\n", what, strerror(errno));
	_exit(EXIT_CANNOT_RUN);
}

/* Moves fds to 0..4 without overwriting one that must still be moved. */
static void place_descriptors(const struct runner *r, int control)
{
	int from[] = {r->theirs[PIPE_IN], r->theirs[PIPE_OUT],
		      r->theirs[PIPE_ERR], control, r->theirs[PIPE_RESULT]};
	int count = (int)ARRAY_SIZE(from);

	for (int i = 0; i < count; i++) {
		from[i] = fcntl(from[i], F_DUPFD, count);
		if (from[i] < 0)
			_exit(EXIT_CANNOT_RUN);
	}
	for (int i = 0; i < count; i++)
		if (dup2(from[i], i) < 0)
			_exit(EXIT_CANNOT_RUN);
	if (syscall(SYS_close_range, (unsigned)count, ~0u, 0))
		fail("close_range");
}

/* Makes two pipes on 5..8 for the TypeScript runner and esbuild: JavaScript
 * cannot make pipes that block. */
static void make_helper_pipes(void)
{
	int ends[2];

	if (pipe(ends) || pipe(ends) || ends[1] != HELPER_LAST_FD)
		fail("pipe");
}

/* Undoes init's batch scheduling, which a child inherits; see
 * guest/init/init.c. */
static void reset_scheduler(void)
{
	struct sched_param none = {0};

	if (sched_setscheduler(0, SCHED_OTHER, &none))
		fail("sched_setscheduler");
}

static void reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i <= SIGRTMAX; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static const struct {
	int resource;
	struct rlimit limit;
} limits[] = {
	/*
	 * As in Debian. No core file is written: see core_pattern in mounts.c.
	 */
	{RLIMIT_CORE, {0, RLIM_INFINITY}},
	{RLIMIT_NOFILE, {1024, 1u << 20}},
	/* The job's own limit is pids.max; it cannot raise this one either. */
	{RLIMIT_NPROC, {8192, 8192}},
	{RLIMIT_STACK, {8u << 20, RLIM_INFINITY}},
	{RLIMIT_MEMLOCK, {64u << 10, 64u << 10}},
	{RLIMIT_NICE, {0, 0}},
	{RLIMIT_RTPRIO, {0, 0}},
};

static void set_limits(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		if (setrlimit((__rlimit_resource_t)limits[i].resource,
			      &limits[i].limit))
			fail("setrlimit");
	/* init is protected from the OOM killer; undo that here */
	int r = sys_write("/proc/self/oom_score_adj", "0");

	if (r) {
		errno = -r;
		fail("oom_score_adj");
	}
}

/* Makes uid 0 an ordinary user: it gains no capability by exec or setuid. */
#define ROOT_IS_NOBODY                                                        \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |      \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |            \
	 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capset, &head, none))
		fail("capset");
}

static void drop_privilege(void)
{
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EINVAL)
			fail("bounding set");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		fail("ambient set");
	if (prctl(PR_SET_SECUREBITS, ROOT_IS_NOBODY, 0, 0, 0))
		fail("securebits");
	if (setgroups(0, NULL))
		fail("setgroups");
	if (setresgid(USER_ID, USER_ID, USER_ID) ||
	    setresuid(USER_ID, USER_ID, USER_ID))
		fail("setresuid");
	/* setresuid() has kept the capabilities, by these securebits */
	drop_capabilities();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail("no_new_privs");
}

static void filter_calls(void)
{
	int r = filter_install();

	if (r) {
		errno = -r;
		fail("seccomp");
	}
}

/* Reads exactly length bytes. */
static void read_all(int fd, char *p, size_t length)
{
	while (length) {
		ssize_t n = read(fd, p, length);

		if (n <= 0)
			_exit(EXIT_CANNOT_RUN); /* init has ended */
		p += n;
		length -= (size_t)n;
	}
}

static char *read_message(char **ret_end)
{
	unsigned char l[4];
	size_t length;
	char *text;

	read_all(RUNNER_CONTROL_FD, (char *)l, sizeof(l));
	length = (size_t)l[0] | (size_t)l[1] << 8 | (size_t)l[2] << 16 |
		 (size_t)l[3] << 24;
	if (length > MESSAGE_MAX)
		_exit(EXIT_CANNOT_RUN);
	text = malloc(length + 1);
	if (!text)
		_exit(EXIT_CANNOT_RUN);
	read_all(RUNNER_CONTROL_FD, text, length);
	text[length] = '\0';
	*ret_end = text + length;
	return text;
}

/* Returns the text after p's NUL. */
static char *next_text(char *p)
{
	return p + strlen(p) + 1;
}

/* Splits a message into a list; the caller owns it. Two NULLs: after the
 * arguments and after the environment. */
static char **split(char *p, char *end, size_t argc)
{
	char **list = calloc((size_t)(end - p) + 3, sizeof(*list));
	size_t n = 0;

	if (!list)
		_exit(EXIT_CANNOT_RUN);
	for (; p < end; p = next_text(p)) {
		if (n == argc)
			n++; /* leave the NULL after the arguments */
		list[n++] = p;
	}
	return list;
}

/* Finds the first word of the file's #! line. Control characters become escapes such as
 * \r, so that the message shows a line end of Windows. "": there is no such line. */
static void find_interpreter(const char *path, char *room, size_t size)
{
	char line[257];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	size_t at = 0;

	room[0] = line[MAX(n, 0)] = '\0';
	if (n < 2 || memcmp(line, "#!", 2) != 0)
		return;
	for (const char *p = line + 2 + strspn(line + 2, " \t");
	     *p && !strchr(" \t\n", *p) && at + 5 < size; p++)
		at += (size_t)snprintf(room + at, size - at,
				       *p == '\r' ? "\\r" :
				       (unsigned char)*p < ' ' ? "\\x%02x" :
				       "%c", *p);
}

/* Executes the command. The kernel's errno may concern the file or its
 * interpreter, so the message names both. */
_Noreturn static void run_command(char **argv, char **envp)
{
	char interpreter[300];
	int e;

	execvpe(argv[0], argv, envp);
	e = errno;
	find_interpreter(argv[0], interpreter, sizeof(interpreter));
	if (interpreter[0])
		dprintf(STDERR_FILENO,
			"%s: cannot run: its interpreter \"%s\": %s\n",
			argv[0], interpreter, strerror(e));
	else
		dprintf(STDERR_FILENO, "%s: cannot run: %s\n", argv[0],
			strerror(e));
	_exit(e == ENOENT || e == ENOTDIR ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

static void take_input(void)
{
	int fd = open(RUNNER_INPUT, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		fail(RUNNER_INPUT);
	close(fd);
}

/* The whole life of the EXEC runner: reports ready, reads one message,
 * executes. */
_Noreturn static void wait_and_exec(void)
{
	char *end, *p, **argv;
	size_t argc;

	fcntl(RUNNER_CONTROL_FD, F_SETFD, FD_CLOEXEC);
	fcntl(RUNNER_RESULT_FD, F_SETFD, FD_CLOEXEC);
	/* execvpe() searches this PATH; the job's own one is for the program */
	if (clearenv() || setenv("PATH", PROGRAM_PATH, 1))
		_exit(EXIT_CANNOT_RUN);
	if (write(RUNNER_CONTROL_FD, "R", 1) != 1)
		_exit(EXIT_CANNOT_RUN);
	p = read_message(&end);
	if (!strcmp(p, "file"))
		take_input();
	p = next_text(p); /* skip the verb */
	/* the interpreter of a session reads further messages */
	if (!strcmp(p, "session") || !strcmp(p, "cell"))
		fcntl(RUNNER_CONTROL_FD, F_SETFD, 0);
	for (int i = 0; i < 3; i++) /* skip mode, function and "fresh" */
		p = next_text(p);
	if (p[0] && chdir(p))
		fail(p);
	p = next_text(p);
	argc = (size_t)strtoul(p, NULL, 10);
	argv = split(next_text(p), end, argc);
	if (!strcmp(argv[0], RUNNER_WARMUP_PROGRAM))
		warmup_program_run();
	run_command(argv, argv + argc + 1);
}

/* Returns the runner's variables for execve(). */
static char **make_env(const struct runner_kind *c, const struct wire_strings *fresh)
{
	static char is_fresh[] = "FSD_FRESH=1"; /* sitecustomize.py reads it */
	const struct environment_vars *v = environment_vars();
	const char *const *from = fresh ? fresh->item : v->item;
	uint32_t count = fresh ? fresh->count : v->count;
	char **list = calloc(count + ARRAY_SIZE(c->extra) + 2, sizeof(*list));
	size_t n = 0;

	if (!list)
		_exit(EXIT_CANNOT_RUN);
	for (uint32_t i = fresh || c->base ? 0 : v->count - v->own; i < count;
	     i++)
		list[n++] = (char *)(uintptr_t)from[i];
	if (fresh)
		list[n++] = is_fresh;
	for (size_t i = 0; i < ARRAY_SIZE(c->extra) && c->extra[i]; i++)
		list[n++] = (char *)(uintptr_t)c->extra[i];
	return list;
}

_Noreturn void child_become_runner(struct runner *r, int control)
{
	const struct runner_kind *c = &runner_kinds[r->kind];

	if (sys_put(r->cgroup.fd[CGROUP_PROCS], "0"))
		_exit(EXIT_CANNOT_RUN);
	setsid();
	reset_signals();
	place_descriptors(r, control);
	reset_scheduler();
	set_limits();
	umask(022);
	if (chdir(c->directory))
		fail(c->directory);
	drop_privilege();
	filter_calls();
	if (!c->argv[0])
		wait_and_exec();
	if (c->helper_pipes)
		make_helper_pipes();
	execve(c->argv[0], (char *const *)(uintptr_t)c->argv,
	       make_env(c, r->fresh));
	fail(c->argv[0]);
}
