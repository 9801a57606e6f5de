/* SPDX-License-Identifier: Apache-2.0 */
/* fsd: run programs that are written as files, each in a machine of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "complete.h"
#include "fsd/client/private.h"
#include "fsd/control/control.h"
#include "fsd/mount/broker.h"
#include "fsd/mount/inotify.h"
#include "fsd/server/supervisor.h"
#include "vm/jail/jailer.h"

static int command_version(const struct cli_command *self, int argc, char **argv)
{
	(void)self;
	(void)argc;
	(void)argv;
	printf("fsd %s\n", fsd_version);
	return 0;
}

static int command_help(const struct cli_command *self, int argc, char **argv);

static const struct cli_command version_command = {
	.name = "version", .fn = command_version, .group = "This host",
	.synopsis = "", .summary = "print the version",
};

static const struct cli_command help_command = {
	.name = "help", .fn = command_help, .group = "This host",
	.synopsis = "[COMMAND]", .summary = "list the commands, or tell of one",
	.operand = CLI_COMMAND,
};

/* The commands, in the order in which `fsd help` lists them. */
static const struct cli_command *const commands[] = {
	/* Jobs */
	&run_command, &submit_command, &batch_command, &ls_command, &status_command,
	&wait_command, &logs_command, &kill_command, &rm_command,
	&sandbox_command, &forward_command, &spool_command, &top_command,
	/* Mounts */
	&mount_command, &umount_command, &upgrade_command, &gateway_command,
	&mcp_command,
	/* This host */
	&template_command, &image_command, &qemu_command, &env_command,
	&doctor_command, &version_command, &help_command,
	NULL,
};

static int command_complete(int argc, char **argv)
{
	return cli_complete(commands, argc, argv);
}

/* Commands that fsd and a shell call. */
static const struct {
	const char *name;
	int (*fn)(int argc, char **argv);
} helpers[] = {
	/* helpers that fsd mount starts */
	{ INOTIFY_COMMAND, inotify_helper },
	{ JAILER_COMMAND, jailer_main },
	{ BROKER_COMMAND, broker_main },
	{ PORT_COMMAND, port_main },
	{ SUPERVISOR_SERVES, command_serve },
	/* the process that fsd run starts for a private mount */
	{ PRIVATE_COMMAND, private_main },
	/* the command that a shell calls for completion */
	{ COMPLETE_COMMAND, command_complete },
};

static const struct cli_command *find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

/* --- help ----------------------------------------------------------------- */

static void help_all(FILE *to)
{
	const char *group = "";

	fputs("fsd runs programs that are written as files, each in a "
	      "virtual machine of\nits own.\n",
	      to);
	for (size_t i = 0; commands[i]; i++) {
		const struct cli_command *c = commands[i];

		if (strcmp(group, c->group) != 0)
			fprintf(to, "\n%s:\n", c->group);
		group = c->group;
		fprintf(to, "  fsd %-9s %s\n", c->name, c->summary);
	}
	fputs("\n`fsd help COMMAND` tells its options; fsd(8) and jobtree(5) "
	      "tell the rest.\n",
	      to);
}

static int unknown(const char *name)
{
	fprintf(stderr, "fsd: there is no command \"%s\"; `fsd help` lists "
		"them\n", name);
	return 2;
}

static int command_help(const struct cli_command *self, int argc, char **argv)
{
	const struct cli_command *c, *verb;

	(void)self;
	if (argc < 2) {
		help_all(stdout);
		return 0;
	}
	c = find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	verb = argc > 2 ? cli_verb(c, argv[2]) : NULL;
	cli_help(verb && verb->summary ? verb : c, stdout);
	return 0;
}

static bool is_help(const char *text)
{
	return !strcmp(text, "--help") || !strcmp(text, "-h");
}

/* True for `fsd COMMAND --help`, -h, or --help as the last word. The words behind the
 * FILE of `fsd run` belong to the program and do not count. */
static bool wants_help(const struct cli_command *c, int argc, char **argv)
{
	if (argc < 3)
		return false;
	return is_help(argv[2]) ||
	       (!c->in_order && !strcmp(argv[argc - 1], "--help"));
}

/* --- main ----------------------------------------------------------------- */

/* Opens /dev/null in the place of standard streams that the caller has closed. Else the
 * next file that fsd opens would become one of them. */
static int open_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	return fd < 0 ? -1 : close(fd);
}

int main(int argc, char **argv)
{
	const struct cli_command *c;

	if (open_streams() < 0) {
		fprintf(stderr, "fsd: /dev/null cannot be opened for reading "
			"and writing: %s\n", strerror(errno));
		return 1;
	}
	if (argc < 2) {
		help_all(stderr);
		return 2;
	}
	if (is_help(argv[1])) {
		help_all(stdout);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
		if (!strcmp(helpers[i].name, argv[1]))
			return helpers[i].fn(argc - 1, argv + 1);
	c = find(!strcmp(argv[1], "--version") ? "version" : argv[1]);
	if (!c)
		return unknown(argv[1]);
	if (wants_help(c, argc, argv)) {
		const struct cli_command *verb = cli_verb(c, argv[2]);

		cli_help(verb && verb->summary ? verb : c, stdout);
		return 0;
	}
	return c->fn(c, argc - 1, argv + 1);
}
