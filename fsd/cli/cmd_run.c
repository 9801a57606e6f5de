/* SPDX-License-Identifier: Apache-2.0 */
/* fsd run, fsd submit: read their options by the table in client/run_options.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "fsd/client/run_client.h"
#include "fsd/client/submit.h"

#define ROW(number, letter, name, arg, kind, key, help, takes, words) \
	{ (letter) ? (letter) : CLI_LONG + (number), name, arg, help, takes, \
	  words },

const struct cli_option run_cli_options[] = {
	JOB_OPTION_TABLE(ROW) MACHINE_OPTION_TABLE(ROW) RUN_ONLY_TABLE(ROW) { 0 }
};
const struct cli_option submit_cli_options[] = {
	JOB_OPTION_TABLE(ROW) MACHINE_OPTION_TABLE(ROW) SUBMIT_ONLY_TABLE(ROW) { 0 }
};
const struct cli_option sandbox_new_cli_options[] = {
	MACHINE_OPTION_TABLE(ROW) SANDBOX_ONLY_TABLE(ROW) { 0 }
};

/* As in a shell, the last one of a name counts. Return: 0 or the exit code. */
static int add_env(struct run_client *c, const char *text)
{
	const char *end = strchr(text, '=');
	unsigned i = 0;

	if (!end)
		return complain(c->command, 2, "-e is \"%s\"; it must be NAME=VALUE",
				text);
	while (i < c->env_count &&
	       strncmp(c->env[i], text, (size_t)(end - text) + 1) != 0)
		i++;
	if (i == ARRAY_SIZE(c->env))
		return complain(c->command, 2, "too many -e; at most %zu are allowed",
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
		return usage(c->command);
	if (i == RUN_ENV)
		return add_env(c, optarg);
	/* The private mount is a process of its own, with our variables. */
	if (i == RUN_ENVIRONMENTS)
		setenv("FSD_ENVIRONMENTS", optarg, 1);
	if (i == RUN_INPUT)
		c->inputs[c->input_count++] = optarg;
	else if (i == RUN_PACKAGES)
		c->packages[c->package_count++] = optarg;
	else
		c->value[i] = run_options[i].arg ? optarg : "";
	return 0;
}

/* `fsd submit DIR [NAME]`. Return: it is that. */
static bool take_directory(struct run_client *c, int argc, char **argv)
{
	struct stat st;

	if (!c->submit || optind >= argc || stat(argv[optind], &st) < 0 ||
	    !S_ISDIR(st.st_mode))
		return false;
	c->value[RUN_PROJECT] = argv[optind++];
	if (optind < argc)
		c->value[SUBMIT_NAME] = argv[optind++];
	return true;
}

/* Of -c, -C and FILE exactly one says what the program is. */
static int take_program(struct run_client *c, int argc, char **argv)
{
	bool code = c->value[RUN_CODE], project = c->value[RUN_PROJECT];

	if (code && project)
		return complain(c->command, 2, "-c and -C both say what the "
				"program is; one is allowed");
	if (!code && !project && take_directory(c, argc, argv))
		return optind < argc ? usage(c->command) : 0;
	if (c->value[RUN_MAIN] && !project)
		return complain(c->command, 2, "--main is a file of the directory "
				"of -C, which is not given");
	if (!code && !project) {
		if (optind >= argc)
			return usage(c->command);
		c->file = argv[optind++];
	}
	c->args = argv + optind;
	c->arg_count = (unsigned)(argc - optind);
	return 0;
}

int run_options_take(struct run_client *c, const struct cli_option *table,
		     int argc, char **argv)
{
	struct cli_getopt options;
	int opt, r = 0;

	cli_getopt(table, true, &options);
	while (r == 0 && (opt = cli_next(c->command, argc, argv, &options)) != -1)
		r = take(c, opt);
	return r;
}

static int run_or_submit(int argc, char **argv, bool submit)
{
	auto_free const char **lists = calloc(2 * (size_t)argc, sizeof(*lists));
	struct run_client c = { .inputs = lists, .packages = lists + argc,
				.submit = submit,
				.command = submit ? "submit" : "run" };
	int r = lists ? 0 : complain(c.command, 1, "out of memory");

	if (r == 0)
		r = run_options_take(&c, submit ? submit_cli_options :
						  run_cli_options, argc, argv);
	if (r == 0)
		r = take_program(&c, argc, argv);
	if (r)
		return r;
	return submit ? submit_client(&c) : run_client(&c);
}

int command_run(int argc, char **argv)
{
	return run_or_submit(argc, argv, false);
}

int command_submit(int argc, char **argv)
{
	return run_or_submit(argc, argv, true);
}
