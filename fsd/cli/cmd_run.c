/* SPDX-License-Identifier: Apache-2.0 */
/* fsd run: reads its options by the table in client/run_options.h. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "fsd/client/run_client.h"

#define ROW(number, letter, name, arg, kind, key, help, takes, words) \
	{ (letter) ? (letter) : CLI_LONG + (number), name, arg, help, takes, \
	  words },

const struct cli_option run_cli_options[] = { RUN_OPTION_TABLE(ROW) { 0 } };

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

static int option_of(int opt)
{
	if (opt >= CLI_LONG)
		return opt - CLI_LONG;
	for (int i = 0; i < RUN_OPTIONS; i++)
		if (opt == run_options[i].letter)
			return i;
	return -1;
}

static int take(struct run_client *c, int opt)
{
	int i = option_of(opt);

	if (i < 0)
		return usage("run");
	if (i == RUN_ENV)
		return add_env(c, optarg);
	/* The private mount is a process of its own, with our variables. */
	if (i == RUN_ENVIRONMENTS)
		setenv("FSD_ENVIRONMENTS", optarg, 1);
	if (i == RUN_INPUT)
		c->inputs[c->input_count++] = optarg;
	else
		c->value[i] = run_options[i].arg ? optarg : "";
	return 0;
}

/* Of -c, -C and FILE exactly one says what the program is. */
static int take_program(struct run_client *c, int argc, char **argv)
{
	bool code = c->value[RUN_CODE], project = c->value[RUN_PROJECT];

	if (code && project)
		return complain("run", 2, "-c and -C both say what the program "
				"is; one is allowed");
	if (c->value[RUN_MAIN] && !project)
		return complain("run", 2, "--main is a file of the directory of "
				"-C, which is not given");
	if (!code && !project) {
		if (optind >= argc)
			return usage("run");
		c->file = argv[optind++];
	}
	c->args = argv + optind;
	c->arg_count = (unsigned)(argc - optind);
	return 0;
}

static int parse(int argc, char **argv, struct run_client *c)
{
	struct cli_getopt options;
	int opt, r = 0;

	cli_getopt(run_cli_options, true, &options);
	while (r == 0 && (opt = getopt_long(argc, argv, options.letters,
					    options.longs, NULL)) != -1)
		r = take(c, opt);
	return r ? r : take_program(c, argc, argv);
}

int command_run(int argc, char **argv)
{
	auto_free const char **inputs = calloc((size_t)argc + 1,
					       sizeof(*inputs));
	struct run_client c = { .inputs = inputs };
	int r = inputs ? parse(argc, argv, &c)
		       : complain("run", 1, "out of memory");

	return r ? r : run_client(&c);
}
