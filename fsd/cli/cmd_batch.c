/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd batch: reads its options. Those of the jobs are `fsd run`'s. Behind PROGRAM stand
 * more options and the INPUTs, or ARGs, "--" and the INPUTs.
 */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "fsd/batch/batch.h"
#include "fsd/client/run_client.h"
#include "fsd/client/run_say.h"

enum {
	BATCH_FROM = CLI_LONG + RUN_OPTIONS,
	BATCH_ARGS,
	BATCH_STDIN,
	BATCH_TRIES,
	BATCH_HALT,
	BATCH_FAILED,
	BATCH_CHANGED,
	BATCH_AGAIN,
	BATCH_KEEP,
	BATCH_PART,
	BATCH_PROGRESS,
	BATCH_NO_SYNC,
	BATCH_STATUS,
	BATCH_TABLE,
	BATCH_CAT,
	BATCH_JSON,
};

static const struct cli_option batch_cli_options[] = {
	{ 'o', "output", "OUT", "the directory of results; the same command goes on\n"
	  "with it", CLI_DIR, NULL },
	{ BATCH_FROM, "from", "FILE", "a line is a job, TABs between its files; -: standard\n"
	  "input", CLI_FILE, NULL },
	{ '0', "null", NULL, "a NUL ends each line", CLI_TEXT, NULL },
	{ BATCH_ARGS, "args", "FILE", "a line has a job's arguments, TABs between; no files",
	  CLI_FILE, NULL },
	{ BATCH_STDIN, "stdin", NULL, "the input is the job's standard input", CLI_TEXT, NULL },
	{ 'j', "jobs", "N", "jobs in the mount at a time (default: twice its\n"
	  "machines)", CLI_TEXT, NULL },
	{ BATCH_TRIES, "tries", "N", "runs that an input has at most if it fails\n(default 1)",
	  CLI_TEXT, NULL },
	{ BATCH_HALT, "halt", "[now,]N[%]", "start no more after so many failures; now: and\n"
	  "end those that run", CLI_TEXT, NULL },
	{ BATCH_FAILED, "failed", NULL, "run again what has failed", CLI_TEXT, NULL },
	{ BATCH_CHANGED, "changed", NULL, "run again inputs that have changed", CLI_TEXT, NULL },
	{ BATCH_AGAIN, "again", NULL, "run all again", CLI_TEXT, NULL },
	{ BATCH_KEEP, "keep", "all|failed|none", "whose results get a directory (default all)",
	  CLI_WORDS, "all failed none" },
	{ 'n', "dry-run", NULL, "say how many would run, and why", CLI_TEXT, NULL },
	{ BATCH_PART, "part", "K/N", "every Nth input from the Kth on", CLI_TEXT, NULL },
	{ BATCH_PROGRESS, "progress", "KIND", "auto, bar, lines or none (default auto: a bar on\n"
	  "a terminal)", CLI_WORDS, "auto bar lines none" },
	{ BATCH_NO_SYNC, "no-sync", NULL, "sync no results: a loss of power may lose some",
	  CLI_TEXT, NULL },
	{ BATCH_STATUS, "status", "OUT", "print how far it is", CLI_DIR, NULL },
	{ BATCH_TABLE, "table", "OUT", "make and print results.tsv", CLI_DIR, NULL },
	{ BATCH_CAT, "cat", "OUT", "print the output of all jobs, in the order of the\ninputs",
	  CLI_DIR, NULL },
	{ BATCH_JSON, "json", NULL, "of --status: as JSON", CLI_TEXT, NULL },
	PROGRAM_OPTION_TABLE(RUN_OPTION_ROW) MACHINE_OPTION_TABLE(RUN_OPTION_ROW)
	PRIVATE_OPTION_TABLE(RUN_OPTION_ROW) { 0 }
};

/* The command line. */
struct line {
	struct batch_options o;
	struct run_client run;
	int (*show)(const struct batch_options *o); /* instead of a run; or NULL */
};

static int complain_twice(void)
{
	return complain("batch", 2, "--from and --args both give the jobs; one is allowed");
}

static int take_source(struct line *l, bool args)
{
	if (l->o.source.from)
		return complain_twice();
	l->o.source.from = optarg;
	l->o.source.args = args;
	return 0;
}

static int take_shown(struct line *l, int (*show)(const struct batch_options *o))
{
	l->show = show;
	l->o.out = optarg;
	return 0;
}

static int take(struct line *l, const struct cli_command *self, int opt)
{
	struct batch_options *o = &l->o;
	const struct {
		int opt;
		const char **text;
		bool *flag;
	} simple[] = {
		{ 'o', &o->out, NULL }, { 'j', &o->jobs, NULL },
		{ BATCH_TRIES, &o->tries, NULL }, { BATCH_HALT, &o->halt, NULL },
		{ BATCH_KEEP, &o->keep, NULL }, { BATCH_PART, &o->part, NULL },
		{ BATCH_PROGRESS, &o->progress, NULL }, { '0', NULL, &o->source.nul },
		{ BATCH_STDIN, NULL, &o->as_stdin }, { BATCH_FAILED, NULL, &o->failed },
		{ BATCH_CHANGED, NULL, &o->changed }, { BATCH_AGAIN, NULL, &o->again },
		{ 'n', NULL, &o->dry_run }, { BATCH_NO_SYNC, NULL, &o->no_sync },
		{ BATCH_JSON, NULL, &o->json },
	};

	for (size_t i = 0; i < ARRAY_SIZE(simple); i++) {
		if (simple[i].opt != opt)
			continue;
		if (simple[i].flag)
			*simple[i].flag = true;
		else
			*simple[i].text = optarg;
		return 0;
	}
	if (opt == BATCH_FROM || opt == BATCH_ARGS)
		return take_source(l, opt == BATCH_ARGS);
	if (opt == BATCH_STATUS)
		return take_shown(l, batch_status);
	if (opt == BATCH_TABLE)
		return take_shown(l, batch_table);
	if (opt == BATCH_CAT)
		return take_shown(l, batch_cat);
	return run_option_take(&l->run, self, opt);
}

/* Takes the options up to the first operand, or all if self is not in order. */
static int take_options(struct line *l, const struct cli_command *self, int argc,
			char **argv)
{
	struct cli_getopt options;
	int opt, r = 0;

	cli_getopt(self, &options);
	while (r == 0 && (opt = cli_next(self, argc, argv, &options)) != -1)
		r = take(l, self, opt);
	return r;
}

/* Return: the index of "--" in argv, or argc. */
static int find_dashes(int argc, char **argv, int at)
{
	while (at < argc && strcmp(argv[at], "--") != 0)
		at++;
	return at;
}

/* Takes the arguments behind PROGRAM, from index `at` on. ended: "--" was before
 * PROGRAM. */
static int take_rest(struct line *l, const struct cli_command *self, int argc, char **argv,
		     int at, bool ended)
{
	struct cli_command mixed = *self;
	int dashes = find_dashes(argc, argv, at), r;

	mixed.in_order = false;
	if (!l->o.source.from && dashes == argc && !ended && at < argc) {
		/* getopt() starts behind the first one, which is no option of ours */
		optind = 0;
		r = take_options(l, &mixed, argc - at + 1, argv + at - 1);
		if (r)
			return r;
		at += optind - 1;
		dashes = at;
		if (l->o.source.from)
			dashes = argc;
	} else if (l->o.source.from || dashes < argc) {
		/* ARGs up to "--", or all */
	} else {
		dashes = at;
	}
	l->run.args = argv + at;
	l->run.arg_count = (unsigned)(dashes - at);
	at = dashes + (dashes < argc && !strcmp(argv[dashes], "--"));
	l->o.source.names = argv + at;
	l->o.source.name_count = (unsigned)(argc - at);
	return 0;
}

/* Return: 0, or 2, and standard error has the sentence. */
static int check(const struct line *l, const struct cli_command *self)
{
	const struct batch_options *o = &l->o;
	const struct run_client *c = &l->run;

	if (!o->out)
		return complain("batch", 2, "-o OUT is missing: the directory of results");
	if (c->value[RUN_CODE] && c->value[RUN_PROJECT])
		return complain("batch", 2, "-c and -C both say what the program is; one "
				"is allowed");
	if (c->value[RUN_MAIN] && !c->value[RUN_PROJECT])
		return complain("batch", 2, "--main is a file of the directory of -C, which "
				"is not given");
	if (c->file && !strcmp(c->file, "-"))
		return complain("batch", 2, "the program is \"-\"; it must be a file, or -c "
				"CODE, or -C DIR: each job needs it");
	if (o->source.from && o->source.name_count)
		return complain("batch", 2, "%s is an input, and --from or --args gives them; "
				"one is allowed", o->source.names[0]);
	if (o->source.args && o->as_stdin)
		return complain("batch", 2, "--stdin and --args: a line of arguments is no "
				"file; one is allowed");
	return o->source.from || o->source.name_count ? 0 : usage(self);
}

static int run_batch(struct line *l, const struct cli_command *self, int argc,
		     char **argv)
{
	bool ended = optind > 1 && !strcmp(argv[optind - 1], "--");
	int at = optind, r;

	if (!l->run.value[RUN_CODE] && !l->run.value[RUN_PROJECT]) {
		if (at >= argc)
			return usage(self);
		l->run.file = argv[at++];
		ended = false;
	}
	r = take_rest(l, self, argc, argv, at, ended);
	if (r == 0)
		r = check(l, self);
	return r ? r : batch_run(&l->o);
}

static int command_batch(const struct cli_command *self, int argc, char **argv)
{
	auto_free const char **lists = calloc(3 * (size_t)argc, sizeof(*lists));
	struct line l = { .run = { .inputs = lists, .packages = lists + argc,
				   .networks = lists + 2 * (size_t)argc,
				   .command = self->name } };
	int r = lists ? 0 : complain("batch", 1, "out of memory");

	l.o.run = &l.run;
	l.o.private_machines = private_machines;
	client_speaks_as(self->name);
	if (r == 0)
		r = take_options(&l, self, argc, argv);
	if (r)
		return r;
	if (!l.show)
		return run_batch(&l, self, argc, argv);
	return optind < argc ? usage(self) : l.show(&l.o);
}

const struct cli_command batch_command = {
	.name = "batch", .fn = command_batch, .group = "Jobs",
	.synopsis = "[OPTIONS] -o OUT PROGRAM INPUT... | PROGRAM ARG... -- INPUT...",
	.summary = "run a program for each of many inputs, and go on after a stop",
	.options = batch_cli_options, .operand = CLI_FILE,
	.notes = "Each INPUT is a file or a directory, and one job. {} in an ARG is its name in\n"
		 "the job; without {} the name is the last argument. The same command continues\n"
		 "a batch that was stopped. -m takes several sizes, as in -m 256,1024: after\n"
		 "out_of_memory the next one. Without --priority it is -10, without --retry 2.\n"
		 "EXAMPLES are in fsd-batch(8).",
	.in_order = true,
};
