/* SPDX-License-Identifier: Apache-2.0 */
/* fsd spool: reads its options. fsd-spool(8) explains them. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "fsd/client/run_client.h"
#include "fsd/client/run_say.h"
#include "fsd/spool/spool.h"

enum {
	OPT_NAME = CLI_LONG + RUN_OPTIONS,
	OPT_PROGRAM,
	OPT_WINDOW,
	OPT_SETTLE,
	OPT_POLL,
	OPT_POLL_ONLY,
	OPT_READY,
	OPT_KEEP_DONE,
	OPT_KEEP_FAILED,
	OPT_NO_INPUT,
	OPT_NO_SYNC,
	OPT_DROP_ONLY,
	OPT_TAKE_OVER,
};

static const struct cli_option options[] = {
	{ OPT_PROGRAM, "program", "FILE",
	  "each entry is an input of this program, and its\nlast argument", CLI_FILE, NULL },
	{ OPT_NAME, "name", "NAME", "of this instance (default: the host's name)", CLI_TEXT,
	  NULL },
	{ OPT_WINDOW, "window", "N",
	  "take at most N entries at a time\n(default: twice the machines)", CLI_TEXT, NULL },
	{ OPT_SETTLE, "settle", "SECONDS",
	  "an entry that has not changed for so long is\ncomplete (default 1)", CLI_TEXT,
	  NULL },
	{ OPT_READY, "ready", "NAME",
	  "a directory is complete when it has a file NAME,\na file when FILE.ready is "
	  "beside it", CLI_TEXT, NULL },
	{ OPT_POLL, "poll", "SECONDS",
	  "list a network filesystem so often (default 2,\nup to 10 in quiet)", CLI_TEXT,
	  NULL },
	{ OPT_POLL_ONLY, "poll-only", NULL, "list DIR/new so often on any filesystem",
	  CLI_TEXT, NULL },
	{ OPT_KEEP_DONE, "keep-done", "TIME",
	  "remove results from done so long after: 90s, 30m,\n12h, 7d (default: never)",
	  CLI_TEXT, NULL },
	{ OPT_KEEP_FAILED, "keep-failed", "TIME", "the same of failed", CLI_TEXT, NULL },
	{ OPT_NO_INPUT, "no-input", NULL, "keep no input/ in done", CLI_TEXT, NULL },
	{ OPT_NO_SYNC, "no-sync", NULL,
	  "sync nothing: a loss of power may lose results", CLI_TEXT, NULL },
	{ OPT_DROP_ONLY, "drop-only", NULL,
	  "all users may drop into new and tmp, and list\nneither", CLI_TEXT, NULL },
	{ OPT_TAKE_OVER, "take-over", "NAME",
	  "this instance gets the entries that the dead\ninstance NAME has taken; ends",
	  CLI_TEXT, NULL },
	PROGRAM_OPTION_TABLE(RUN_OPTION_ROW) MACHINE_OPTION_TABLE(RUN_OPTION_ROW) { 0 },
};

/* Seconds, with up to three digits behind a point. Return: 0 or -EINVAL. */
static int parse_seconds(const char *text, unsigned *ret_ms)
{
	char *end;
	double seconds = text[0] >= '0' && text[0] <= '9' ? strtod(text, &end) : -1;

	if (!(seconds >= 0 && seconds <= 3600) || *end)
		return -EINVAL;
	*ret_ms = (unsigned)(seconds * 1000 + 0.5);
	return 0;
}

/* Parses a time such as "7d". Return: 0 or -EINVAL. */
static int parse_time(const char *text, uint64_t *ret_s)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t len = strspn(text, "0123456789");
	char number[20];

	if (!len || len >= sizeof(number) || strlen(text) > len + 1)
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	if (parse_u64(number, 1, UINT32_MAX, ret_s) < 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (text[len] == units[i].unit) {
			*ret_s *= units[i].seconds;
			return 0;
		}
	return text[len] ? -EINVAL : 0;
}

static int wrong(const char *name, const char *must)
{
	return complain("spool", 2, "--%s is \"%s\"; it must be %s", name, optarg, must);
}

static int take_seconds(const char *name, unsigned *ret_ms)
{
	return parse_seconds(optarg, ret_ms) < 0 ?
		       wrong(name, "seconds from 0 to 3600") : 0;
}

static int take_time(const char *name, uint64_t *ret_s)
{
	return parse_time(optarg, ret_s) < 0 ?
		       wrong(name, "a time such as 90s, 30m, 12h or 7d") : 0;
}

static int take_window(unsigned *ret)
{
	uint64_t n;

	if (parse_u64(optarg, 1, SPOOL_WINDOW_MOST, &n) < 0)
		return wrong("window", "a number from 1 to 2048");
	*ret = (unsigned)n;
	return 0;
}

/* The command line. */
struct line {
	struct spool_options o;
	struct run_client run;
};

static int take(struct line *l, const struct cli_command *self, int opt)
{
	struct spool_options *o = &l->o;

	switch (opt) {
	case OPT_PROGRAM:
		l->run.file = optarg;
		return 0;
	case OPT_NAME:
		o->name = optarg;
		return 0;
	case OPT_READY:
		o->ready = optarg;
		return strchr(optarg, '/') || !optarg[0] || is_dots(optarg) ?
			       wrong("ready", "the name of a file") : 0;
	case OPT_TAKE_OVER:
		o->take_over = optarg;
		return 0;
	case OPT_WINDOW:
		return take_window(&o->window);
	case OPT_SETTLE:
		return take_seconds("settle", &o->settle_ms);
	case OPT_POLL:
		return take_seconds("poll", &o->poll_ms);
	case OPT_POLL_ONLY:
		o->poll_only = true;
		return 0;
	case OPT_KEEP_DONE:
		return take_time("keep-done", &o->keep_done_s);
	case OPT_KEEP_FAILED:
		return take_time("keep-failed", &o->keep_failed_s);
	case OPT_NO_INPUT:
		o->no_input = true;
		return 0;
	case OPT_NO_SYNC:
		o->no_sync = true;
		return 0;
	case OPT_DROP_ONLY:
		o->drop_only = true;
		return 0;
	default:
		return run_option_take(&l->run, self, opt);
	}
}

/* Return: the name of a given option that is only valid with a program, or NULL. */
static const char *program_option(const struct run_client *c, char room[32])
{
	if (c->env_count)
		return run_option_word(RUN_ENV, room);
	if (c->input_count)
		return run_option_word(RUN_INPUT, room);
	if (c->package_count)
		return run_option_word(RUN_PACKAGES, room);
	if (c->network_count)
		return run_option_word(RUN_NETWORK, room);
	for (int i = 0; i < RUN_OPTIONS; i++)
		if (c->value[i] && i != RUN_MOUNT)
			return run_option_word(i, room);
	return NULL;
}

/* Checks that at most one of --program, -c and -C names the program. */
static int take_program(struct line *l, int count, char **args)
{
	struct run_client *c = &l->run;
	int given = !!c->file + !!c->value[RUN_CODE] + !!c->value[RUN_PROJECT];
	char room[32];
	const char *word = program_option(c, room);

	if (given > 1)
		return complain("spool", 2, "--program, -c and -C each say what the program "
				"is; one is allowed");
	if (given == 0 && word)
		return complain("spool", 2, "%s is an option of the program of --program; "
				"else each entry has its own config.json", word);
	if (given == 0)
		return count ? complain("spool", 2, "%s is an argument of the program of "
					"--program, which is not given", args[0]) : 0;
	l->o.program = c;
	c->args = args;
	c->arg_count = (unsigned)count;
	c->value[RUN_NO_STDIN] = "";
	return 0;
}

/* Runs `fsd spool DIR [ARG]...`. */
static int run(struct line *l, const struct cli_command *self, int count, char **operands)
{
	int r;

	if (count < 1)
		return usage(self);
	l->o.dir = operands[0];
	l->o.mount = l->run.value[RUN_MOUNT];
	r = take_program(l, count - 1, operands + 1);
	if (r)
		return r;
	client_speaks_as("spool");
	return spool_client(&l->o);
}

static int command_spool(const struct cli_command *self, int argc, char **argv)
{
	auto_free const char **lists = calloc(3 * (size_t)argc, sizeof(*lists));
	struct line l = { .o = { .settle_ms = 1000, .poll_ms = 2000 },
			  .run = { .inputs = lists, .packages = lists + argc,
				   .networks = lists + 2 * (size_t)argc,
				   .command = "spool" } };
	struct cli_getopt table;
	int opt, r = lists ? 0 : complain("spool", 1, "out of memory");

	cli_getopt(self, &table);
	while (r == 0 && (opt = cli_next(self, argc, argv, &table)) != -1)
		r = take(&l, self, opt);
	return r ? r : run(&l, self, argc - optind, argv + optind);
}

const struct cli_command spool_command = {
	.name = "spool", .fn = command_spool, .group = "Jobs",
	.synopsis = "[OPTIONS] DIR [ARG]...",
	.summary = "run what is dropped into a directory",
	.options = options, .operand = CLI_DIR,
	.notes = "It makes DIR/new, tmp, done and failed. `mv DIR/tmp/x DIR/new/x` runs the\n"
		 "directory x, program x or archive x; its results are DIR/done/x, or\n"
		 "DIR/failed/x unless it ends with 0. fsd-spool(8) has EXAMPLES.",
};
