/* SPDX-License-Identifier: Apache-2.0 */
/* fsd: run programs that are written as files, each in a machine of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/fuse/face.h"
#include "options.h"

int command_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("fsd %s\n", fsd_version);
	return 0;
}

int usage(const char *command)
{
	const struct cli_command *c = cli_find(command);

	if (c)
		fprintf(stderr, "usage: fsd %s %s\n`fsd help %s` tells more\n",
			c->name, c->synopsis ? c->synopsis : "", c->name);
	return 2;
}

/* What is opened next would be taken for a stream that the caller has closed:
 * they lead nowhere instead. */
static int open_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	return fd < 0 ? -1 : close(fd);
}

static int unknown(const char *name)
{
	fprintf(stderr, "fsd: there is no command \"%s\"; `fsd help` lists "
		"them\n", name);
	return 2;
}

int command_help(int argc, char **argv)
{
	const struct cli_command *c, *verb;

	if (argc < 2) {
		cli_help_all(stdout);
		return 0;
	}
	c = cli_find(argv[1]);
	if (!c || !c->group)
		return unknown(argv[1]);
	verb = argc > 2 ? cli_verb(c, argv[2]) : NULL;
	cli_help(verb && verb->summary ? verb : c, stdout);
	return 0;
}

static bool is_help(const char *text)
{
	return !strcmp(text, "--help") || !strcmp(text, "-h");
}

/* `fsd COMMAND --help` and -h, or --help at the end: but what follows the FILE
 * of `fsd run` is the program's. */
static bool wants_help(const struct cli_command *c, int argc, char **argv)
{
	if (!c->group || argc < 3)
		return false;
	return is_help(argv[2]) || (c->fn != command_run &&
				    c->fn != command_submit &&
				    !strcmp(argv[argc - 1], "--help"));
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
		cli_help_all(stderr);
		return 2;
	}
	if (is_help(argv[1])) {
		cli_help_all(stdout);
		return 0;
	}
	c = cli_find(!strcmp(argv[1], "--version") ? "version" : argv[1]);
	if (!c)
		return unknown(argv[1]);
	if (wants_help(c, argc, argv)) {
		const struct cli_command *verb = cli_verb(c, argv[2]);

		cli_help(verb && verb->summary ? verb : c, stdout);
		return 0;
	}
	return c->fn(argc - 1, argv + 1);
}
