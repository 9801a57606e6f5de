/* SPDX-License-Identifier: Apache-2.0 */
/* fsd run, fsd submit: read their options by the table in client/run_options.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "fsd/client/run_client.h"
#include "fsd/client/run_say.h"
#include "fsd/client/submit.h"

#define ROW RUN_OPTION_ROW

static const struct cli_option run_cli_options[] = {
	JOB_OPTION_TABLE(ROW) MACHINE_OPTION_TABLE(ROW) RUN_ONLY_TABLE(ROW)
	PRIVATE_OPTION_TABLE(ROW) { 0 }
};
static const struct cli_option submit_cli_options[] = {
	JOB_OPTION_TABLE(ROW) MACHINE_OPTION_TABLE(ROW) SUBMIT_ONLY_TABLE(ROW) { 0 }
};
const struct cli_option sandbox_new_cli_options[] = {
	MACHINE_OPTION_TABLE(ROW) PORT_OPTION_TABLE(ROW) SANDBOX_ONLY_TABLE(ROW) { 0 }
};

/* Adds a variable. Of several with one name the last one counts, as in a shell. Return: 0
 * or the exit code. */
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

static int add_port(struct run_client *c, const char *text)
{
	uint64_t port;

	if (parse_u64(text, LIMIT_PORT_MIN, LIMIT_PORT_MAX, &port) < 0)
		return complain(c->command, 2, "--port is \"%s\"; it must be a number "
				"from %u to %u", text, LIMIT_PORT_MIN, LIMIT_PORT_MAX);
	if (c->port_count == ARRAY_SIZE(c->ports))
		return complain(c->command, 2, "too many --port; at most %zu are allowed",
				ARRAY_SIZE(c->ports));
	c->ports[c->port_count++] = (uint16_t)port;
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

int run_option_take(struct run_client *c, const struct cli_command *self, int opt)
{
	int i = option_of(opt);

	if (i < 0)
		return usage(self);
	if (i == RUN_ENV)
		return add_env(c, optarg);
	if (i == RUN_PORT)
		return add_port(c, optarg);
	if (i == RUN_FORCE)
		i = RUN_REPLACE;
	/* The private mount is a process of its own, with our variables. */
	if (i == RUN_ENVIRONMENTS)
		setenv("FSD_ENVIRONMENTS", optarg, 1);
	if (i == RUN_INPUT)
		c->inputs[c->input_count++] = optarg;
	else if (i == RUN_GET)
		c->gets[c->get_count++] = optarg;
	else if (i == RUN_PACKAGES)
		c->packages[c->package_count++] = optarg;
	else if (i == RUN_NETWORK)
		c->networks[c->network_count++] = optarg;
	else
		c->value[i] = run_options[i].arg ? optarg : "";
	return 0;
}

/* Takes `fsd submit DIR [NAME]`. Return: true if the command line has this form. */
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

/* Checks that exactly one of -c, -C and FILE names the program. */
static int take_program(struct run_client *c, const struct cli_command *self,
			int argc, char **argv)
{
	bool code = c->value[RUN_CODE], project = c->value[RUN_PROJECT];

	if (code && project)
		return complain(c->command, 2, "-c and -C both say what the "
				"program is; one is allowed");
	if (!code && !project && take_directory(c, argc, argv))
		return optind < argc ? usage(self) : 0;
	if (c->value[RUN_MAIN] && !project)
		return complain(c->command, 2, "--main is a file of the directory "
				"of -C, which is not given");
	if (!code && !project) {
		if (optind >= argc)
			return usage(self);
		c->file = argv[optind++];
	}
	c->args = argv + optind;
	c->arg_count = (unsigned)(argc - optind);
	return 0;
}

int run_options_take(struct run_client *c, const struct cli_command *self,
		     int argc, char **argv)
{
	struct cli_getopt options;
	int opt, r = 0;

	client_speaks_as(c->command);
	cli_getopt(self, &options);
	while (r == 0 && (opt = cli_next(self, argc, argv, &options)) != -1)
		r = run_option_take(c, self, opt);
	return r;
}

static int run_or_submit(const struct cli_command *self, int argc, char **argv,
			 bool submit)
{
	auto_free const char **lists = calloc(4 * (size_t)argc, sizeof(*lists));
	struct run_client c = { .inputs = lists, .packages = lists + argc,
				.gets = lists + 2 * (size_t)argc,
				.networks = lists + 3 * (size_t)argc,
				.submit = submit,
				.command = self->name };
	int r = lists ? 0 : complain(c.command, 1, "out of memory");

	if (r == 0)
		r = run_options_take(&c, self, argc, argv);
	if (r == 0)
		r = take_program(&c, self, argc, argv);
	if (r)
		return r;
	return submit ? submit_client(&c) : run_client(&c);
}

static int command_run(const struct cli_command *self, int argc, char **argv)
{
	return run_or_submit(self, argc, argv, false);
}

static int command_submit(const struct cli_command *self, int argc, char **argv)
{
	return run_or_submit(self, argc, argv, true);
}

const struct cli_command run_command = {
	.name = "run", .fn = command_run, .group = "Jobs",
	.synopsis = "[OPTIONS] FILE|- [ARG]...",
	.summary = "run one job; its exit code is ours",
	.options = run_cli_options, .operand = CLI_FILE,
	.notes = "With -c CODE or -C DIR there is no FILE. Behind the program all belongs\n"
		 "to it. EXAMPLES are in fsd(8).",
	.in_order = true,
};

const struct cli_command submit_command = {
	.name = "submit", .fn = command_submit, .group = "Jobs",
	.synopsis = "[OPTIONS] FILE|- [ARG]... | DIR [NAME]",
	.summary = "make a job of a program or a directory, and go on",
	.options = submit_cli_options, .operand = CLI_FILE,
	.notes = "It prints the job's path. Without a NAME the job is called like FILE\n"
		 "or DIR, and a number is added if that name is taken. With -c CODE or\n"
		 "-C DIR all operands are ARGs. All is copied under a name with a dot\n"
		 "first, so that the job starts whole. EXAMPLES are in fsd(8).",
	.in_order = true,
};
