/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd gateway and fsd mcp: find the mount and become fsd-gateway, a program of its own
 * that lies beside this one. So the daemon links no HTTP. fsd mcp makes a private mount
 * if there is none.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/private.h"
#include "fsd/client/run_say.h"
#include "fsd/client/where.h"
#include "fsd/client/which_mount.h"
#include "vm/os/spawn.h"

#define PROGRAM "fsd-gateway"

static int find_program(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path,
			     PATH_MAX - sizeof(PROGRAM));
	char *slash;

	if (n < 0)
		return -errno;
	path[n] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, PROGRAM);
	return 0;
}

#define ANSWER_MS 5000

/* Calls fn for each option in the help of fsd-gateway, which alone knows its options. If
 * it is not installed, there are none. */
static void option_lines(void (*fn)(void *arg, const char *line), void *arg)
{
	char program[PATH_MAX], text[16384], *line, *rest = text;
	const char *argv[] = { program, "--help", NULL };
	const struct spawn s = { .argv = argv, .want_stdout = true };
	struct child child;

	if (find_program(program) < 0 || spawn(&s, &child, NULL) < 0)
		return;
	if (child_read(&child, text, sizeof(text), ANSWER_MS) > 0)
		while ((line = strsep(&rest, "\n")))
			if (line[0] == ' ')
				fn(arg, line);
	child_end(&child);
}

/* True if one of the arguments begins with that option. */
static bool has_option(int argc, char **argv, const char *name)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, len) &&
		    (!argv[i][len] || argv[i][len] == '='))
			return true;
	return false;
}

static int command_gateway(const struct cli_command *self, int argc, char **argv)
{
	auto_free char **more = calloc((size_t)argc + 3, sizeof(*more));
	char program[PATH_MAX], mnt[PATH_MAX];
	char option[] = "--mount";
	struct err err = { 0 };
	int count = 1, r = find_program(program);

	(void)self;
	if (!more || r < 0)
		return complain(argv[0], 1, "%s", strerror(more ? -r : ENOMEM));
	more[0] = program;
	if (!has_option(argc, argv, "--mount") &&
	    !has_option(argc, argv, "--new-key")) {
		if (where_mount(NULL, mnt, &err) < 0)
			return complain(argv[0], 1, "%s", err.text);
		more[count++] = option;
		more[count++] = mnt;
	}
	memcpy(more + count, argv + 1, (size_t)(argc - 1) * sizeof(*more));
	execv(program, more);
	return complain(argv[0], 1, "%s: %s", program, strerror(errno));
}

/* --- fsd mcp ---------------------------------------------------------------------- */

/*
 * Makes a private mount, then executes the gateway's program in this process. The mount's
 * holder is a child of this process and ends with it. The mount is in the holder's
 * namespace, so the program gets a descriptor of it.
 */
static int serve_private(char *program, char **argv, int count)
{
	struct private_mount own = PRIVATE_NONE;
	char mnt[48];
	sigset_t set, old;
	int signals, r;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	client_speaks_as("mcp");
	r = private_start(&own, "mcp", signals);
	if (r == 0) {
		snprintf(mnt, sizeof(mnt), "/proc/self/fd/%d", own.root);
		argv[count - 1] = mnt;
		fcntl(own.root, F_SETFD, 0);
		sigprocmask(SIG_SETMASK, &old, NULL);
		execv(program, argv);
		r = complain("mcp", 1, "%s: %s", program, strerror(errno));
	}
	fd_close(&own.root);
	fd_close(&signals);
	private_stop(&own);
	return r;
}

static int command_mcp(const struct cli_command *self, int argc, char **argv)
{
	auto_free char **more = calloc((size_t)argc + 5, sizeof(*more));
	char program[PATH_MAX], mnt[PATH_MAX];
	char stdio[] = "--stdio", option[] = "--mount";
	struct err err = { 0 };
	int count = 0, r = find_program(program);

	(void)self;
	if (!more || r < 0)
		return complain(argv[0], 1, "%s", strerror(more ? -r : ENOMEM));
	more[count++] = program;
	more[count++] = stdio;
	for (int i = 1; i < argc; i++)
		more[count++] = argv[i];
	if (!has_option(argc, argv, "--mount")) {
		more[count++] = option;
		more[count++] = mnt;
		if (!which_mount(NULL))
			return serve_private(program, more, count);
		if (where_mount(NULL, mnt, &err) < 0)
			return complain(argv[0], 1, "%s", err.text);
	}
	execv(program, more);
	return complain(argv[0], 1, "%s: %s", program, strerror(errno));
}

const struct cli_command gateway_command = {
	.name = "gateway", .fn = command_gateway, .group = "Mounts",
	.synopsis = "[OPTIONS]", .summary = "serve a mount's sandboxes by HTTP",
	.notes = "fsd-gateway(8) tells more.", .option_lines = option_lines,
};

const struct cli_command mcp_command = {
	.name = "mcp", .fn = command_mcp, .group = "Mounts",
	.synopsis = "[OPTIONS]",
	.summary = "serve MCP on standard input and output",
	.notes = "Without a mount it makes a private one, which ends with it.\n"
		 "fsd-gateway(8) tells more.",
	.option_lines = option_lines,
};
