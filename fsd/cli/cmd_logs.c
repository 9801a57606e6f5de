/* SPDX-License-Identifier: Apache-2.0 */
/* fsd logs, fsd kill: what a job has written, and its end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/job_view.h"

const struct cli_option logs_cli_options[] = {
	{ 'f', "follow", NULL, "go on until the job has ended", CLI_TEXT, NULL },
	{ 'M', "mount", "MNT", "the mount of a JOB that is a name", CLI_MOUNT,
	  NULL },
	{ 0 },
};

const struct cli_option kill_cli_options[] = {
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

/* Reads what there is now. Return: 1: there may be more later; 0: the end; -1: it
 * cannot be read or written, which was said. */
static int pump(const char *name, int from, int to)
{
	char room[65536];
	ssize_t n;

	while ((n = read(from, room, sizeof(room))) > 0)
		if (write_all(to, room, (size_t)n))
			return -1;
	if (n == 0 || errno == EINVAL || errno == ESTALE)
		return 0; /* EINVAL: a refused job has none */
	if (errno == EAGAIN || errno == EINTR)
		return 1;
	complain("logs", 1, "%s: %s", name, strerror(errno));
	return -1;
}

/* Both streams, until they have ended. */
static int print(const struct job_place *at, int dir, bool follow)
{
	static const char *const names[2][2] = {
		{ "stdout", "stderr" }, { "stdout.follow", "stderr.follow" },
	};
	struct pollfd p[2];
	int r = 0, more;

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
			more = pump(at->name, p[i].fd, STDOUT_FILENO + i);
			r = more < 0 ? 1 : 0;
			if (more == 0)
				fd_close(&p[i].fd);
		}
	}
	fd_close(&p[0].fd);
	fd_close(&p[1].fd);
	return r;
}

/* A job that has written nothing says why: standard error, not a stream of it. */
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

int command_logs(int argc, char **argv)
{
	const char *mount = NULL;
	struct job_place at;
	struct cli_getopt g;
	auto_close int dir = -1;
	bool follow = false;
	int opt, r;

	cli_getopt(logs_cli_options, false, &g);
	while ((opt = getopt_long(argc, argv, g.letters, g.longs, NULL)) !=
	       -1) {
		if (opt == 'f')
			follow = true;
		else if (opt == 'M')
			mount = optarg;
		else
			return usage("logs");
	}
	if (optind != argc - 1)
		return usage("logs");
	dir = find("logs", mount, argv[optind], &at);
	if (dir < 0)
		return 1;
	r = explain(&at, dir, follow);
	if (r == 0)
		r = print(&at, dir, follow);
	/* It may have been refused, or have gone, since. */
	return r == 0 && follow ? explain(&at, dir, false) : r;
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
				"; `rm -r` removes it" : "");
	ctl = openat(dir, "ctl", O_WRONLY | O_CLOEXEC);
	if (ctl >= 0 && write(ctl, verb, strlen(verb)) > 0)
		return 0;
	if (errno == ESRCH)
		return complain("kill", 1, "%s has no program now: it waits for "
				"its machine, or has just ended", at.name);
	return complain("kill", 1, "%s: %s", at.name, strerror(errno));
}

int command_kill(int argc, char **argv)
{
	const char *mount = NULL;
	char verb[64] = "kill\n";
	struct cli_getopt g;
	int opt, r = 0;

	cli_getopt(kill_cli_options, false, &g);
	while ((opt = getopt_long(argc, argv, g.letters, g.longs, NULL)) !=
	       -1) {
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
			return usage("kill");
	}
	if (optind == argc)
		return usage("kill");
	for (int i = optind; i < argc; i++)
		r |= kill_one(mount, argv[i], verb);
	return r;
}
