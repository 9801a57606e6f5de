/* SPDX-License-Identifier: Apache-2.0 */
/* fsd logs prints a job's streams; fsd kill ends a job. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/job_view.h"

static const struct cli_option logs_cli_options[] = {
	{ 'f', "follow", NULL, "go on until the job has ended", CLI_TEXT, NULL },
	{ 'n', "tail", "N", "of each stream the last N lines alone", CLI_TEXT, NULL },
	{ 'M', "mount", "MNT", "the mount of a JOB that is a name", CLI_MOUNT,
	  NULL },
	{ 0 },
};

static const struct cli_option kill_cli_options[] = {
	{ 's', "signal", "NAME", "send this signal to the program instead",
	  CLI_WORDS, "HUP INT QUIT KILL TERM USR1 USR2 STOP CONT" },
	{ 'M', "mount", "MNT", "the mount of a JOB that is a name", CLI_MOUNT,
	  NULL },
	{ 0 },
};

static int find(const char *command, const char *mount, const char *text,
		struct job_place *at)
{
	struct err err = { 0 };
	int dir = where_job(mount, text, at, &err);

	if (dir == 0)
		dir = where_open(at, &err);
	if (dir < 0)
		complain(command, 1, "%s", err.text);
	return dir;
}

/* --- logs --------------------------------------------------------------------- */

static int write_all(int to, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(to, data, len);
		struct pollfd p = { .fd = to, .events = POLLOUT };

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			poll(&p, 1, -1);
		} else if (errno != EINTR) {
			return complain("logs", 1, "standard %s: %s",
					to == STDOUT_FILENO ? "output" :
							      "error",
					strerror(errno));
		}
	}
	return 0;
}

/* Prints the bytes that a stream has now, without the first *skip. Return: 1: there may
 * be more later; 0: the end; -1: it cannot be read or written, which was said. */
static int pump(const char *name, int from, int to, uint64_t *skip)
{
	char room[65536];
	ssize_t n;

	while ((n = read(from, room, sizeof(room))) > 0) {
		size_t less = (size_t)MIN(*skip, (uint64_t)n);

		*skip -= less;
		if (write_all(to, room + less, (size_t)n - less))
			return -1;
	}
	if (n == 0 || errno == EINVAL || errno == ESTALE)
		return 0; /* EINVAL: a refused job has none */
	if (errno == EAGAIN || errno == EINTR)
		return 1;
	complain("logs", 1, "%s: %s", name, strerror(errno));
	return -1;
}

struct logs {
	const char *mount;
	bool follow;
	bool tail;      /* the last `lines` alone */
	uint64_t lines;
};

/* Return: the offset of the last lines of a stream, as long as it is now. A last line
 * without a newline counts as a line. */
static uint64_t before_tail(int dir, const char *name, uint64_t lines)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END), at = size;
	char room[65536];

	while (lines && at > 0) {
		off_t from = MAX(at - (off_t)sizeof(room), (off_t)0);
		ssize_t n = pread(fd, room, (size_t)(at - from), from);

		for (ssize_t i = n - 1; i >= 0; i--)
			if (room[i] == '\n' && from + i + 1 < size && !--lines)
				return (uint64_t)(from + i + 1);
		at = n < 0 ? 0 : from;
	}
	return lines ? 0 : (uint64_t)MAX(size, (off_t)0);
}

/* Prints both streams until they end. */
static int print(const struct logs *logs, const struct job_place *at, int dir)
{
	static const char *const names[2][2] = {
		{ "stdout", "stderr" }, { "stdout.follow", "stderr.follow" },
	};
	const bool follow = logs->follow;
	uint64_t skip[2] = { 0 };
	struct pollfd p[2];
	int r = 0, more;

	for (int i = 0; logs->tail && i < 2; i++)
		skip[i] = before_tail(dir, names[0][i], logs->lines);

	for (int i = 0; i < 2; i++)
		p[i] = (struct pollfd){
			.fd = openat(dir, names[follow][i],
				     O_RDONLY | O_NONBLOCK | O_CLOEXEC),
			.events = POLLIN,
		};
	while (r == 0 && (p[0].fd >= 0 || p[1].fd >= 0)) {
		if (follow && poll(p, 2, -1) < 0 && errno != EINTR)
			r = complain("logs", 1, "%s", strerror(errno));
		for (int i = 0; r == 0 && i < 2; i++) {
			if (p[i].fd < 0 || (follow && !p[i].revents))
				continue;
			more = pump(at->name, p[i].fd, STDOUT_FILENO + i,
				    &skip[i]);
			r = more < 0 ? 1 : 0;
			if (more == 0)
				fd_close(&p[i].fd);
		}
	}
	fd_close(&p[0].fd);
	fd_close(&p[1].fd);
	return r;
}

/* Says on standard error why a job has written nothing yet: its streams are empty. */
static int explain(const struct job_place *at, int dir, bool follow)
{
	auto_buf struct buf line = { 0 };
	struct job_view v;
	int r = job_view_read(dir, &v);

	if (r < 0)
		return complain("logs", 1, "%s/%s: %s", at->mnt, at->name,
				r == -ENOENT ? "it was removed" :
					       strerror(-r));
	if (v.state == JOB_RUNNING || v.state == JOB_DONE ||
	    (follow && v.state != JOB_REFUSED))
		return 0;
	job_view_line(at->name, &v, &line);
	return complain("logs", 1, "%s", line.failed ? "no memory" : line.data);
}

/* Prints the streams of one job. several: with a line before them that names the job, as
 * tail(1) does. */
static int logs_of(const struct logs *logs, const char *text, bool several)
{
	struct job_place at;
	auto_close int dir = find("logs", logs->mount, text, &at);
	int r;

	if (dir < 0)
		return 1;
	if (several) {
		printf("==> %s <==\n", at.name);
		fflush(stdout);
	}
	r = explain(&at, dir, logs->follow);
	if (r == 0)
		r = print(logs, &at, dir);
	/* the job may have been refused or removed since */
	return r == 0 && logs->follow ? explain(&at, dir, false) : r;
}

static int take_lines(struct logs *logs, const char *text)
{
	logs->tail = true;
	return parse_u64(text, 0, UINT64_MAX, &logs->lines) < 0 ?
		       complain("logs", 2, "-n is \"%s\"; it must be a number of "
				"lines", text) : 0;
}

static int command_logs(const struct cli_command *self, int argc, char **argv)
{
	struct logs logs = { 0 };
	struct cli_getopt g;
	int opt, r = 0;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt == 'f')
			logs.follow = true;
		else if (opt == 'M')
			logs.mount = optarg;
		else if (opt != 'n')
			return usage(self);
		else if (take_lines(&logs, optarg))
			return 2;
	}
	if (optind == argc)
		return usage(self);
	for (int i = optind; i < argc; i++)
		r |= logs_of(&logs, argv[i], argc - optind > 1);
	return r;
}

/* --- kill --------------------------------------------------------------------- */

static int kill_one(const char *mount, const char *text, const char *verb)
{
	struct job_place at;
	auto_close int dir = find("kill", mount, text, &at), ctl = -1;
	char state[16];

	if (dir < 0)
		return 1;
	if (job_view_text(dir, "state", state, sizeof(state)) <= 0)
		return complain("kill", 1, "%s: it was removed", at.name);
	state[strcspn(state, "\n")] = '\0';
	if (strcmp(state, "queued") && strcmp(state, "running"))
		return complain("kill", 1, "%s is %s: nothing of it runs%s",
				at.name, state, strcmp(state, "done") ?
				"; `fsd rm` removes it" : "");
	ctl = openat(dir, "ctl", O_WRONLY | O_CLOEXEC);
	if (ctl >= 0 && write(ctl, verb, strlen(verb)) > 0)
		return 0;
	if (errno == ESRCH)
		return complain("kill", 1, "%s has no program now: it waits for "
				"its machine, or has just ended", at.name);
	return complain("kill", 1, "%s: %s", at.name, strerror(errno));
}

static int command_kill(const struct cli_command *self, int argc, char **argv)
{
	const char *mount = NULL;
	char verb[64] = "kill\n";
	struct cli_getopt g;
	int opt, r = 0;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt == 's' && signal_parse(optarg) < 0)
			return complain("kill", 2, "-s is \"%s\"; it must be a "
					"signal's name, such as TERM, or a "
					"number from 1 to 64", optarg);
		else if (opt == 's')
			snprintf(verb, sizeof(verb), "signal %d\n",
				 signal_parse(optarg));
		else if (opt == 'M')
			mount = optarg;
		else
			return usage(self);
	}
	if (optind == argc)
		return usage(self);
	for (int i = optind; i < argc; i++)
		r |= kill_one(mount, argv[i], verb);
	return r;
}

const struct cli_command logs_command = {
	.name = "logs", .fn = command_logs, .group = "Jobs",
	.synopsis = "[OPTIONS] JOB...", .summary = "print what jobs have written",
	.options = logs_cli_options, .operand = CLI_JOB,
	.notes = "Their stdout goes to standard output, their stderr to standard error.\n"
		 "Several jobs come one after the other, each below a line with its\n"
		 "name.\n\n"
		 JOB_NOTE,
};

const struct cli_command kill_command = {
	.name = "kill", .fn = command_kill, .group = "Jobs",
	.synopsis = "[OPTIONS] JOB...",
	.summary = "end jobs, or send them a signal",
	.options = kill_cli_options, .operand = CLI_JOB, .notes = JOB_NOTE,
};
