/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd run: one job from the shell. It is a client of the mount like any other:
 * it makes a draft, renames it, copies the .follow files to its own streams
 * and reads exit_code. Without a mount it starts a private one.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/run_client.h"
#include "fsd/client/which_mount.h"

enum { OPT_JSON = CLI_LONG, OPT_MOUNT, OPT_PRIVATE };

const struct cli_option run_cli_options[] = {
	{ 'l', NULL, "LANG", "a name under .fsd/templates", CLI_WORDS,
	  "python javascript typescript bash" },
	{ 't', NULL, "SECONDS", "end it after so long (30)", CLI_TEXT,
	  NULL },
	{ 'm', NULL, "MB", "what it may use (256)", CLI_TEXT, NULL },
	{ 'e', NULL, "NAME=VALUE", "environment, repeatable", CLI_TEXT, NULL },
	{ OPT_JSON, "json", NULL, "print result.json instead of the streams",
	  CLI_TEXT, NULL },
	{ OPT_MOUNT, "mount", "MNT",
	  "through this mount (default: $FSD_MOUNT,\n"
	  SERVICE_MOUNT ", else a private one)", CLI_MOUNT, NULL },
	{ OPT_PRIVATE, "private", NULL, "through a private mount", CLI_TEXT,
	  NULL },
	{ 0 },
};

/* As in a shell, the last one of a name counts. Return: 0 or the exit code. */
static int add_env(struct run_client *c, const char *text)
{
	const char *end = strchr(text, '=');
	unsigned i = 0;

	if (!end)
		return complain("run", 2, "-e is \"%s\"; it must be NAME=VALUE",
				text);
	while (i < c->env_count &&
	       strncmp(c->env[i], text, (size_t)(end - text) + 1) != 0)
		i++;
	if (i == ARRAY_SIZE(c->env))
		return complain("run", 2, "too many -e; at most %zu are allowed",
				ARRAY_SIZE(c->env));
	c->env[i] = text;
	c->env_count = MAX(c->env_count, i + 1);
	return 0;
}

static int parse(int argc, char **argv, struct run_client *c)
{
	struct cli_getopt g;
	int opt;

	cli_getopt(run_cli_options, true, &g);
	while ((opt = getopt_long(argc, argv, g.letters, g.longs, NULL)) !=
	       -1) {
		switch (opt) {
		case 'l':
			c->language = optarg;
			break;
		case 't':
			c->timeout = optarg;
			break;
		case 'm':
			c->memory = optarg;
			break;
		case 'e':
			if (add_env(c, optarg))
				return 2;
			break;
		case OPT_JSON:
			c->json = true;
			break;
		case OPT_MOUNT:
			c->mount = optarg;
			break;
		case OPT_PRIVATE:
			c->private = true;
			break;
		default:
			return usage("run");
		}
	}
	if (optind >= argc)
		return usage("run");
	c->file = argv[optind];
	c->args = argv + optind + 1;
	c->arg_count = (unsigned)(argc - optind - 1);
	return 0;
}

int command_run(int argc, char **argv)
{
	struct run_client c = { 0 };
	int r = parse(argc, argv, &c);

	return r ? r : run_client(&c);
}
