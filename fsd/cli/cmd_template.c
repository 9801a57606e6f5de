/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd template: makes a template for all users of a host, or for this one. A mount
 * of its own makes it, in a directory beside the others, from where it gets its
 * place by a rename; an older one of the same name makes room in the same step.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/server/default_dirs.h"
#include "vm/os/spawn.h"

#define LOOK_MS 200
#define BOUND_NS (1200 * NS_PER_S)
#define KEY_DIGITS 16

enum { OPT_IMAGE = CLI_LONG, OPT_ACCEL, OPT_MEMORY, OPT_ENVIRONMENT,
       OPT_ENVIRONMENTS };

#define ENVIRONMENTS_MAX 16 /* environments in one call */

static const struct cli_option template_cli_options[] = {
	{ OPT_IMAGE, "image", "DIR", "guest image", CLI_DIR, NULL },
	{ OPT_ACCEL, "accel", "auto|kvm|tcg", "how machines are run (auto)",
	  CLI_WORDS, "auto kvm tcg" },
	{ OPT_MEMORY, "memory", "MB", "also for jobs of this memory_mb, if it\n"
	  "is more than 4096", CLI_TEXT, NULL },
	{ OPT_ENVIRONMENT, "environment", "NAME", "also for jobs of this "
	  "environment; repeatable", CLI_ENVIRONMENT, NULL },
	{ OPT_ENVIRONMENTS, "environments", "DIR", "where environments are",
	  CLI_DIR, NULL },
	{ 0 },
};

struct making {
	const char *image, *accel;
	uint64_t memory;
	const char *environments_dir; /* NULL: the usual ones */
	const char *environments[ENVIRONMENTS_MAX];
	unsigned environment_count;
	char dir[PATH_MAX];       /* directory for the finished templates */
	char work[PATH_MAX + 32]; /* directory below it; "": not made yet */
	char mnt[PATH_MAX + 64];
	struct child mount;
};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	stopped = number;
}

static int make_dirs(const char *path)
{
	char part[PATH_MAX];

	for (size_t i = 1; i <= strlen(path); i++) {
		if (path[i] && path[i] != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return complain("template", 1, "%s: %s", part,
					strerror(errno));
	}
	return 0;
}

static int start_mount(struct making *m)
{
	const char *argv[28] = { "fsd", "mount", "--state", m->work, "--alone",
				 "--pool", "0", "--fork", "no", "--durability",
				 "relaxed", "--log-level", "warn" };
	struct err err = { 0 };
	size_t n = 13;

	if (m->image) {
		argv[n++] = "--image";
		argv[n++] = m->image;
	}
	if (m->accel) {
		argv[n++] = "--accel";
		argv[n++] = m->accel;
	}
	if (m->environments_dir) {
		argv[n++] = "--environments";
		argv[n++] = m->environments_dir;
	}
	argv[n++] = m->mnt;
	if (mkdir(m->mnt, 0700) < 0)
		return complain("template", 1, "%s: %s", m->mnt,
				strerror(errno));
	if (spawn(&(struct spawn){ .argv = argv, .program = "/proc/self/exe",
				   .error_fd = STDERR_FILENO, .may_gain = true,
				   .parting = SIGTERM }, &m->mount, &err) < 0)
		return complain("template", 1, "%s", err.text);
	return 0;
}

static void read_health(const struct making *m, char *ret, size_t size)
{
	char path[PATH_MAX + 96];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" FSD_DIR_NAME "/health", m->mnt);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, ret, size - 1);
	ret[MAX(n, 0)] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

/* Waits until the mount can run jobs, which means that the template exists. */
static int await_ready(struct making *m)
{
	struct pollfd p = { .fd = m->mount.pidfd, .events = POLLIN };
	uint64_t until = now_ns() + BOUND_NS;
	char now[600], told[600] = "";

	while (!stopped && now_ns() < until) {
		read_health(m, now, sizeof(now));
		if (health_is_ok(now))
			return 0;
		/* Compares the step without its seconds. */
		if (strncmp(now, told, strcspn(now, "(")) != 0)
			fprintf(stderr, "fsd template: %s\n", now);
		memcpy(told, now, sizeof(told));
		if (poll(&p, 1, LOOK_MS) > 0)
			return complain("template", 1, "the mount that makes "
					"it has ended");
	}
	return stopped ? 128 + stopped :
			 complain("template", 1, "it is not ready after %llu s",
				  (unsigned long long)(BOUND_NS / NS_PER_S));
}

static int put(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX + 128];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Reads a file of the job; ret is "" if it cannot be read. */
static void read_of(const char *job, const char *name, char *ret, size_t size)
{
	char path[PATH_MAX + 240];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", job, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, ret, size - 1);
	ret[MAX(n, 0)] = '\0';
}

/* Tells the steps that are new in its log, each without the time that it begins
 * with. Return: how much of the log was seen. */
static size_t tell_steps(const char *job, size_t seen)
{
	char log[8192], *line, *rest = log;

	read_of(job, "log", log, sizeof(log));
	while ((line = strsep(&rest, "\n")) && rest) {
		const char *step = strstr(line, "makes the template");

		if ((size_t)(line - log) >= seen && step)
			fprintf(stderr, "fsd template: %s\n", step);
	}
	return line ? (size_t)(line - log) : 0;
}

/* Waits until the job has ended, or the mount has, or a signal came. */
static void await_job(const struct making *m, const char *job)
{
	struct pollfd p = { .fd = m->mount.pidfd, .events = POLLIN };
	char state[16];
	size_t seen = 0;

	do {
		seen = tell_steps(job, seen);
		read_of(job, "state", state, sizeof(state));
	} while ((!strcmp(state, "queued\n") || !strcmp(state, "running\n")) &&
		 !stopped && poll(&p, 1, LOOK_MS) <= 0);
}

/* Runs a job with that config, whose machine needs a template of its own. Return: 0;
 * negative: the job did not run, and why has the reason, or is empty. */
static int run_job(const struct making *m, const char *name,
		   const char *config, char *why, size_t size)
{
	char job[PATH_MAX + 224], code[8];
	int r;

	snprintf(job, sizeof(job), "%s/%s", m->mnt, name);
	r = mkdir(job, 0700) < 0 ? -errno : put(job, "code.sh", ":\n");
	if (r == 0)
		r = put(job, "config.json", config);
	if (r == 0)
		await_job(m, job);
	read_of(job, "exit_code", code, sizeof(code));
	if (r == 0 && !strcmp(code, "0\n"))
		return 0;
	read_of(job, "error", why, size);
	why[strcspn(why, "\n")] = '\0';
	return -1;
}

/* Makes the template for large machines, by a job that needs so much memory. */
static int run_large(const struct making *m)
{
	char config[64], why[600];

	snprintf(config, sizeof(config), "{\"memory_mb\": %llu}",
		 (unsigned long long)m->memory);
	if (run_job(m, "large", config, why, sizeof(why)) < 0)
		return complain("template", 1, "no machine for %llu MB could "
				"be made here", (unsigned long long)m->memory);
	return 0;
}

/* Makes the template of an environment, by a job in it. name was checked: nothing in it
 * needs an escape. */
static int run_in(const struct making *m, const char *name)
{
	char config[320], why[600] = "";

	snprintf(config, sizeof(config), "{\"environment\": \"%s\"}", name);
	if (run_job(m, name, config, why, sizeof(why)) < 0)
		return complain("template", 1, "%s",
				why[0] ? why : "no machine could be made here");
	return 0;
}

/* --- its place --------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void remove_all(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static const char *const files[] = { "ram", "state", "meta", "cold", "of" };

/* Lets all users read the template and no user write it. */
static int open_up(const char *path)
{
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if ((dir < 0 || fchmodat(dir, files[i], 0444, 0) < 0) &&
		    (errno != ENOENT || strcmp(files[i], "cold") != 0))
			return -errno;
	return fchmod(dir, 0755) < 0 ? -errno : 0;
}

/* Removes the older template. If a process has it open, a later fsd template removes
 * it. */
static void retire(const struct making *m, const char *old)
{
	auto_close int dir = open(old, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char to[PATH_MAX + 64];

	if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0)
		return; /* the old template is removed with the working directory */
	snprintf(to, sizeof(to), "%s/.old-%d", m->dir, (int)getpid());
	rename(old, to);
}

static int place(const struct making *m, const char *name)
{
	char from[PATH_MAX + 512], to[PATH_MAX + 512];
	int r;

	snprintf(from, sizeof(from), "%s/templates/%s", m->work, name);
	snprintf(to, sizeof(to), "%s/%s", m->dir, name);
	r = open_up(from);
	if (r == 0 && rename(from, to) < 0)
		r = -errno;
	if (r == -ENOTEMPTY || r == -EEXIST) {
		r = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) <
				    0 ? -errno : 0;
		if (r == 0)
			retire(m, from);
	}
	if (r < 0)
		return complain("template", 1, "%s: %s", to, strerror(-r));
	puts(to);
	return 0;
}

static int place_all(const struct making *m)
{
	char path[PATH_MAX + 64];
	struct dirent *e;
	unsigned count = 0;
	int r = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/templates", m->work);
	dir = opendir(path);
	while (r == 0 && dir && (e = readdir(dir)))
		if (strlen(e->d_name) == KEY_DIGITS &&
		    strspn(e->d_name, "0123456789abcdef") == KEY_DIGITS) {
			r = place(m, e->d_name);
			count++;
		}
	if (dir)
		closedir(dir);
	return r || count ? r : complain("template", 1, "no template was made");
}

/* True for a name that retire() gives. */
static bool is_retired(const char *name)
{
	return !strncmp(name, ".old-", 5) && name[5] &&
	       strspn(name + 5, "0123456789") == strlen(name + 5);
}

/* Removes a template, which has these files and no others. */
static void remove_template(int parent, const char *name)
{
	auto_close int dir = openat(parent, name, O_RDONLY | O_DIRECTORY |
						  O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0 || flock(dir, LOCK_EX | LOCK_NB) < 0 ||
	    faccessat(dir, "meta", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		unlinkat(dir, files[i], 0);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* Removes retired templates that no process has open any more. */
static void clean(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (is_retired(e->d_name))
			remove_template(dirfd(dir), e->d_name);
	if (dir)
		closedir(dir);
}

static void stop_mount(struct making *m)
{
	struct pollfd p = { .fd = m->mount.pidfd, .events = POLLIN };

	if (m->mount.pid > 0) {
		kill(m->mount.pid, SIGTERM);
		while (poll(&p, 1, -1) < 0 && errno == EINTR)
			;
	}
	child_end(&m->mount);
}

/* Links the files took-* from the user's state directory into the working directory, or
 * moves them back. They say how long templates took; only a mount's estimates use
 * them. */
static void move_times(const struct making *m, bool back)
{
	auto_free char *state = default_state_dir();
	char usual[PATH_MAX + 16], own[PATH_MAX + 64];
	auto_close int from = -1, to = -1;
	struct dirent *e;
	DIR *dir;

	snprintf(usual, sizeof(usual), "%s/templates", state ? state : "");
	snprintf(own, sizeof(own), "%s/templates", m->work);
	mkdir(own, 0700);
	from = open(back ? own : usual, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	to = open(back ? usual : own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = opendir(back ? own : usual);
	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, "took-", 5) &&
		    (back ? renameat(from, e->d_name, to, e->d_name) :
			    linkat(from, e->d_name, to, e->d_name, 0)) < 0)
			break; /* the target is on another file system */
	if (dir)
		closedir(dir);
}

static int make(struct making *m)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int r = make_dirs(m->dir);

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (r)
		return r;
	clean(m->dir);
	snprintf(m->work, sizeof(m->work), "%s/.make-XXXXXX", m->dir);
	if (!mkdtemp(m->work))
		return complain("template", 1, "%s: %s", m->dir,
				strerror(errno));
	move_times(m, false);
	snprintf(m->mnt, sizeof(m->mnt), "%s/mnt", m->work);
	r = start_mount(m);
	if (r == 0)
		r = await_ready(m);
	if (r == 0 && m->memory > 4096)
		r = run_large(m);
	for (unsigned i = 0; r == 0 && i < m->environment_count; i++)
		r = run_in(m, m->environments[i]);
	stop_mount(m);
	if (r == 0)
		r = place_all(m);
	if (r == 0)
		move_times(m, true);
	remove_all(m->work);
	return r;
}

static int find_dir(struct making *m, const char *asked)
{
	auto_free char *state = NULL, *path = NULL;

	if (asked && mkdir(asked, 0755) < 0 && errno != EEXIST)
		return complain("template", 1, "%s: %s", asked,
				strerror(errno));
	state = asked || geteuid() == 0 ? NULL : default_state_dir();
	path = asked ? absolute_path(asked) : NULL;
	if (asked ? !path : geteuid() != 0 && !state)
		return complain("template", 1, "%s: %s",
				asked ? asked : "the state directory",
				strerror(errno));
	if (state)
		snprintf(m->dir, sizeof(m->dir), "%s/templates", state);
	else
		snprintf(m->dir, sizeof(m->dir), "%s",
			 path ? path : SHARED_TEMPLATES);
	return 0;
}

static int add_environment(struct making *m, const char *name)
{
	struct environment_spec spec;
	char room[ENVIRONMENT_SHOWN_MAX];
	struct err err = { 0 };

	if (m->environment_count == ENVIRONMENTS_MAX)
		return complain("template", 2, "too many environments; at most "
				"%d are allowed", ENVIRONMENTS_MAX);
	if (environment_spec_parse(name, &spec, &err) < 0 || !spec.name[0])
		return complain("template", 2, "--environment is %s; it "
				"must be a name of fsd env list",
				environment_shown(name, room));
	m->environments[m->environment_count++] = name;
	return 0;
}

/* Makes the templates for fsd env warm. */
int template_of_environments(const char *dir, char **names, int count)
{
	struct making m = { .mount = { .pidfd = -1, .stderr_fd = -1 },
			    .environments_dir = dir };
	int r = find_dir(&m, NULL);

	for (int i = 0; r == 0 && i < count; i++)
		r = add_environment(&m, names[i]);
	return r ? r : make(&m);
}

static int command_template(const struct cli_command *self, int argc, char **argv)
{
	struct making m = { .mount = { .pidfd = -1, .stderr_fd = -1 } };
	struct cli_getopt g;
	int opt, r;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt == OPT_IMAGE)
			m.image = optarg;
		else if (opt == OPT_ACCEL)
			m.accel = optarg;
		else if (opt == OPT_ENVIRONMENTS)
			m.environments_dir = optarg;
		else if (opt == OPT_ENVIRONMENT) {
			r = add_environment(&m, optarg);
			if (r)
				return r;
		} else if (opt != OPT_MEMORY)
			return usage(self);
		else if (parse_u64(optarg, 32, 1u << 20, &m.memory) < 0)
			return complain("template", 2, "--memory is \"%s\"; it "
					"must be a number of MB from 32 to %u",
					optarg, 1u << 20);
	}
	if (argc - optind > 1)
		return usage(self);
	r = find_dir(&m, argv[optind]);
	return r ? r : make(&m);
}

const struct cli_command template_command = {
	.name = "template", .fn = command_template, .group = "This host",
	.synopsis = "[OPTIONS] [DIR]",
	.summary = "make a template, so that first starts are short",
	.options = template_cli_options, .operand = CLI_DIR,
	.notes = "By root it is for all users of this host, in\n"
		 SHARED_TEMPLATES "; else for this user.",
};
