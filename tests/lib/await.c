/* SPDX-License-Identifier: Apache-2.0 */
/*
 * await — the waits that nearly every bats test makes, as one small program.
 * A Python interpreter takes 20 ms to start, and a test made three of them.
 *
 *   await mount MNT PID SECONDS     until MNT is mounted and its daemon PID
 *                                   answers; prints the pid of its server
 *   await exit PID SECONDS          until the process has ended
 *   await ended PID SECONDS MNT STATE
 *                                   the same, then: gone
 *   await gone SESSION MNT STATE    no mount at MNT, and unused
 *   await unused SESSION STATE      no process of the session, no open file
 *                                   below STATE is left; SESSION may be "none"
 *   await becomes SECONDS COMMAND...
 *                                   until the command succeeds
 *   await reader PID MNT SECONDS    until a process below PID is blocked in a
 *                                   read of MNT
 *   await read FILE SECONDS         prints all of it, as `timeout cat` would
 *                                   with two programs more
 *
 * SECONDS are multiplied by the environment's SLOW. Exit status: 0, or 1 with
 * a sentence on standard error.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* PF_KTHREAD among the flags in /proc/PID/stat. */
#define KERNEL_THREAD 0x00200000u
#define MAX_PAUSE_MS 100

extern char **environ;

__attribute__((noreturn, format(printf, 1, 2))) static void
die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("await: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(const char *text)
{
	const char *slow = getenv("SLOW");
	char *end;
	double n = strtod(text, &end);

	if (end == text || *end || n < 0)
		die("\"%s\" is no number of seconds", text);
	return slow && atoi(slow) > 0 ? n * atoi(slow) : n;
}

static pid_t process(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end || n <= 0)
		die("\"%s\" is no process", text);
	return (pid_t)n;
}

/* Milliseconds until the end, for poll(2): 0 if it is over. */
static int left_ms(double end)
{
	double left = (end - now()) * 1000;

	return left <= 0 ? 0 : left > INT_MAX - 1 ? INT_MAX : (int)left + 1;
}

/* A whole file, NUL-terminated, for the caller to free. NULL: errno says why. */
static char *read_file(const char *path)
{
	size_t used = 0, room = 4096;
	char *text = malloc(room);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	while (text && fd >= 0 &&
	       (n = read(fd, text + used, room - used - 1)) > 0) {
		used += (size_t)n;
		if (room - used < 2)
			text = realloc(text, room *= 2);
	}
	if (fd >= 0)
		close(fd);
	if (!text)
		die("out of memory");
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[used] = 0;
	return text;
}

static bool is_mount_point(const char *mnt)
{
	char *table = read_file("/proc/self/mountinfo"), *rest = table, *line;
	bool found = false;

	if (!table)
		die("/proc/self/mountinfo: %s", strerror(errno));
	while (!found && (line = strsep(&rest, "\n"))) {
		/* id, parent, device, root, mount point */
		char *word = NULL;

		for (int i = 0; i < 5; i++)
			word = strsep(&line, " ");
		found = word && !strcmp(word, mnt);
	}
	free(table);
	return found;
}

/* The pid of the server of MNT. 0: no mount of fsd answers there yet. */
static long server_of(const char *mnt)
{
	char value[32];
	ssize_t n;

	if (!is_mount_point(mnt))
		return 0;
	n = getxattr(mnt, "user.fsd.pid", value, sizeof(value) - 1);
	if (n < 0 && errno != ENOTCONN && errno != ENOENT && errno != ENODATA &&
	    errno != ENOTSUP)
		die("%s: %s", mnt, strerror(errno));
	value[n < 0 ? 0 : n] = 0;
	return strtol(value, NULL, 10);
}

/* -1: it has ended and was reaped. */
static int open_process(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 && errno != ESRCH)
		die("process %d: %s", pid, strerror(errno));
	return fd;
}

/* The kernel tells pollers of mountinfo when a mount appears. */
static void await_mount(char **arg)
{
	pid_t pid = process(arg[1]);
	double end = now() + seconds(arg[2]);
	struct pollfd p[2] = {
		{ .fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC),
		  .events = POLLPRI },
		{ .fd = open_process(pid), .events = POLLIN },
	};
	long server;

	if (p[0].fd < 0)
		die("/proc/self/mountinfo: %s", strerror(errno));
	if (p[1].fd < 0)
		die("the daemon has ended already");
	while (!(server = server_of(arg[0]))) {
		int left = left_ms(end);

		if (!left)
			die("%s was not mounted in time", arg[0]);
		/* a mount that does not answer yet makes no further event */
		if (poll(p, 2, left < 100 ? left : 100) > 0 && p[1].revents)
			die("the daemon ended before it mounted");
	}
	printf("%ld\n", server);
}

static void exited(pid_t pid, double end)
{
	struct pollfd p = { .fd = open_process(pid), .events = POLLIN };

	if (p.fd < 0)
		return;
	while (!poll(&p, 1, left_ms(end)))
		if (!left_ms(end))
			die("process %d is still there", pid);
	close(p.fd);
}

static void await_exit(char **arg)
{
	exited(process(arg[0]), now() + seconds(arg[1]));
}

/* Where the link points to, if that lies below prefix. */
static bool points_below(const char *link, const char *prefix, char *target)
{
	ssize_t n = readlink(link, target, PATH_MAX - 1);

	if (n < 0)
		return false;
	target[n] = 0;
	return !strncmp(target, prefix, strlen(prefix));
}

/* Does the process use a directory: an open file, a mapping, its cwd? Dies if so. A
 * process that ends meanwhile does not. */
static void uses(pid_t pid, const char *prefix)
{
	static const char *const links[] = { "cwd", "root" };
	char path[PATH_MAX], target[PATH_MAX], *maps;
	struct dirent *e;
	DIR *fds;

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, links[i]);
		if (points_below(path, prefix, target))
			die("process %d has %s as its %s", pid, target,
			    links[i]);
	}
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	while (fds && (e = readdir(fds))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, e->d_name);
		if (points_below(path, prefix, target))
			die("process %d still has %s open", pid, target);
	}
	if (fds)
		closedir(fds);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = read_file(path);
	if (maps && strstr(maps, prefix))
		die("process %d still has a file of %s mapped", pid, prefix);
	free(maps);
}

/* The state letter and the session of a process, and the clock's ticks at its
 * start; 0: there is none, or it is a thread of the kernel. */
static char state_of(const char *pid, long *ret_session,
		     unsigned long long *ret_start)
{
	char path[64], state = 0, *text, *after;
	unsigned flags;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	text = read_file(path);
	after = text ? strrchr(text, ')') : NULL;
	if (!after ||
	    sscanf(after, ") %c %*d %*d %ld %*d %*d %u %*u %*u %*u %*u %*u %*u "
		   "%*d %*d %*d %*d %*d %*d %llu", &state, ret_session,
		   &flags, ret_start) != 4 || flags & KERNEL_THREAD)
		state = 0;
	free(text);
	return state;
}

/* When the process started, in the clock's ticks; 0: it cannot be told. */
static unsigned long long start_of(const char *pid)
{
	unsigned long long start = 0;
	long session;

	return state_of(pid, &session, &start) ? start : 0;
}

/* No process since began is of the session or uses state. A process that is older
 * than the daemon cannot come of it, and what all processes of a host have open is
 * long. */
static void unused(const char *session, unsigned long long began,
		   const char *state)
{
	pid_t no = strcmp(session, "none") ? process(session) : -1;
	char prefix[PATH_MAX + 1];
	struct dirent *e;
	DIR *proc;

	if (!realpath(state, prefix))
		snprintf(prefix, PATH_MAX, "%s", state);
	strcat(prefix, "/");
	proc = opendir("/proc");
	if (!proc)
		die("/proc: %s", strerror(errno));
	while ((e = readdir(proc))) {
		unsigned long long start = 0;
		long of = 0;
		char letter;

		if (!isdigit(e->d_name[0]) || process(e->d_name) == getpid())
			continue;
		letter = state_of(e->d_name, &of, &start);
		if (!letter || letter == 'Z' || letter == 'X' || start < began)
			continue;
		if (of == no)
			die("process %s of the daemon's session remains",
			    e->d_name);
		uses(process(e->d_name), prefix);
	}
	closedir(proc);
}

static void gone(const char *session, unsigned long long began,
		 const char *mnt, const char *state)
{
	if (is_mount_point(mnt)) {
		umount2(mnt, MNT_DETACH);
		die("%s is still mounted", mnt);
	}
	unused(session, began, state);
}

static void await_gone(char **arg)
{
	gone(arg[0], start_of(arg[0]), arg[1], arg[2]);
}

static void await_unused(char **arg)
{
	unused(arg[0], start_of(arg[0]), arg[1]);
}

/* The shell reaps the daemon as soon as it has ended, and nothing tells of its start
 * any more. */
static void await_ended(char **arg)
{
	unsigned long long began = start_of(arg[0]);

	exited(process(arg[0]), now() + seconds(arg[1]));
	gone(arg[0], began, arg[2], arg[3]);
}

/* For what nothing in the mount tells of: asks again and again. */
static void await_becomes(char **arg)
{
	double began = now(), end = began + seconds(arg[0]);
	posix_spawn_file_actions_t quiet;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&quiet, 1, 2);
	for (;;) {
		int status, pause;
		pid_t pid;
		int r = posix_spawnp(&pid, arg[1], &quiet, NULL, arg + 1,
				     environ);

		if (r)
			die("%s: %s", arg[1], strerror(r));
		while (waitpid(pid, &status, 0) < 0)
			if (errno != EINTR)
				die("waitpid: %s", strerror(errno));
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			return;
		if (now() > end)
			break;
		/* Asking costs a process each time: the longer it takes, the
		 * rarer. */
		pause = 10 + (int)((now() - began) * 1000 / 8);
		poll(NULL, 0, pause < MAX_PAUSE_MS ? pause : MAX_PAUSE_MS);
	}
	fputs("await:", stderr);
	for (int i = 1; arg[i]; i++)
		fprintf(stderr, " %s", arg[i]);
	die("not within %s s", arg[0]);
}

/* Waits in a read of the file system mnt. */
static bool reads(pid_t pid, const char *mnt)
{
	char path[64], prefix[PATH_MAX], target[PATH_MAX], *text;
	unsigned long fd;
	bool blocked = false;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	text = read_file(path);
	if (text && sscanf(text, "0 0x%lx", &fd) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%lu", pid, fd);
		snprintf(prefix, sizeof(prefix), "%s/", mnt);
		blocked = points_below(path, prefix, target);
	}
	free(text);
	return blocked;
}

/* The process or any below it. */
static bool one_reads(pid_t pid, const char *mnt)
{
	char path[64], *text, *rest, *word;
	bool found = reads(pid, mnt);

	if (found)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	rest = text = read_file(path);
	while (!found && rest && (word = strsep(&rest, " ")))
		found = *word && one_reads(process(word), mnt);
	free(text);
	return found;
}

/* There is no event for a blocked process: it gives way between two looks. */
static void await_reader(char **arg)
{
	double end = now() + seconds(arg[2]);

	while (!one_reads(process(arg[0]), arg[1])) {
		if (now() > end)
			die("process %s does not block", arg[0]);
		poll(NULL, 0, 1);
	}
}

static _Noreturn void too_late(int number)
{
	static const char words[] = "await: the read took too long\n";

	(void)number;
	if (write(2, words, sizeof(words) - 1) < 0) {
		/* nobody is there to be told */
	}
	_exit(1);
}

static void await_read(char **arg)
{
	static char bytes[64 << 10];
	struct itimerval bound = { 0 };
	double most = seconds(arg[1]);
	ssize_t n;
	int fd;

	signal(SIGALRM, too_late);
	bound.it_value.tv_sec = (time_t)most + 1;
	setitimer(ITIMER_REAL, &bound, NULL);
	fd = open(arg[0], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", arg[0], strerror(errno));
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		if (fwrite(bytes, 1, (size_t)n, stdout) != (size_t)n)
			die("what was read cannot be printed");
	if (n < 0)
		die("%s: %s", arg[0], strerror(errno));
}

static const struct wait {
	const char *name;
	int min, max; /* arguments; max 0: any number more */
	void (*fn)(char **arg);
} waits[] = {
	{ "mount", 3, 3, await_mount },	  { "exit", 2, 2, await_exit },
	{ "ended", 4, 4, await_ended },	  { "gone", 3, 3, await_gone },
	{ "unused", 2, 2, await_unused },
	{ "becomes", 2, 0, await_becomes }, { "reader", 3, 3, await_reader },
	{ "read", 2, 2, await_read },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(waits) / sizeof(*waits); i++) {
		if (strcmp(argv[1], waits[i].name))
			continue;
		if (argc - 2 < waits[i].min ||
		    (waits[i].max && argc - 2 > waits[i].max))
			die("%s takes %d arguments", argv[1], waits[i].min);
		waits[i].fn(argv + 2);
		if (fflush(stdout))
			die("what was found cannot be printed");
		return 0;
	}
	die("there is no wait \"%s\"", argc > 1 ? argv[1] : "");
}
