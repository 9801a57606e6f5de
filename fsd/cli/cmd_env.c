/* SPDX-License-Identifier: Apache-2.0 */
/* fsd env: the table of its commands, functions that they share, and the short
 * commands. */
#include "cmd_env.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct cli_option env_cli_options[] = { ENV_DIR_OPTION, { 0 } };

/* --- what they share -------------------------------------------------------- */

static int parse(const struct cli_command *self, int argc, char **argv,
		 struct env_call *call, const char **ret_dir)
{
	struct cli_getopt g;
	int opt;

	cli_getopt(self, &g);
	while ((opt = cli_next(self, argc, argv, &g)) != -1) {
		if (opt == ENV_OPT_DIR)
			*ret_dir = optarg;
		else if (opt == ENV_OPT_SOURCES)
			call->sources = true;
		else if (opt == ENV_OPT_NAME)
			call->name = optarg;
		else if (opt == 'j')
			call->json = true;
		else
			return usage(self);
	}
	return 0;
}

int env_begin(const struct cli_command *self, int argc, char **argv,
	      struct env_call *ret)
{
	const char *dir = NULL;
	struct err err = { 0 };
	int r;

	*ret = (struct env_call){ 0 };
	r = parse(self, argc, argv, ret, &dir);
	if (r)
		return r;
	if (dir && !*dir)
		return complain("env", 2, "--environments is empty; it must "
				"be a directory");
	ret->dir = dir;
	if (environment_dirs_find(dir, NULL, &ret->dirs) < 0)
		return complain("env", 1, "%s", strerror(ENOMEM));
	if (environment_names(&ret->dirs.places, &ret->names, &err) < 0) {
		env_end(ret);
		return complain("env", 1, "%s", err.text);
	}
	return 0;
}

void env_end(struct env_call *call)
{
	environment_names_done(&call->names);
	environment_dirs_done(&call->dirs);
}

static int no_such(const struct env_call *call, const char *name)
{
	auto_buf struct buf list = { 0 };

	if (!strcmp(name, ENVIRONMENT_BASE))
		return complain("env", 1, "base is what every machine has, and "
				"no set; fsd image list tells of it");
	for (size_t i = 0; i < call->names.count; i++)
		buf_fmt(&list, "%s%s", i ? ", " : "; there are ",
			call->names.name[i].name);
	return complain("env", 1, "there is no environment \"%.80s\"%s", name,
			list.len ? list.data : "; there is none yet");
}

int env_open(const struct env_call *call, const char *name,
	     struct environment **ret)
{
	const struct environment_name *n =
		environment_names_find(&call->names, name);
	struct err err = { 0 };

	if (!n)
		return no_such(call, name);
	if (environment_open_found(&call->dirs.places, n, ret, &err) < 0)
		return complain("env", 1, "%s is damaged: %s; run fsd env "
				"build %s", name, err.text, name);
	return 0;
}

void env_image_read(const char *dir, struct env_image *ret, struct err *err)
{
	*ret = (struct env_image){ 0 };
	ret->known = vm_image_facts(dir, ret->abi, &ret->packages, err) == 0;
}

void env_image_done(struct env_image *image)
{
	buf_done(&image->packages);
}

const char *env_state(const struct environment_places *places,
		      const struct environment_name *name,
		      const struct env_image *image, bool sums,
		      struct environment **ret, struct err *err)
{
	*ret = NULL;
	if (environment_open_found(places, name, ret, err) < 0 ||
	    (sums && environment_verify(*ret, NULL, err) < 0))
		return "damaged";
	if (image->known &&
	    environment_misfit(*ret, image->abi, image->packages.data, err) < 0)
		return "stale";
	return "ready";
}

void env_size(uint64_t bytes, char ret[32])
{
	static const char *const units[] = { "kB", "MB", "GB" };
	double v = (double)bytes;
	int unit = -1;

	while (v >= 999.5 && unit + 1 < (int)ARRAY_SIZE(units)) {
		v /= 1000;
		unit++;
	}
	snprintf(ret, 32, "%.*f %s", unit >= 0 && v < 9.95, v,
		 unit < 0 ? "bytes" : units[unit]);
}

/* --- verify, rm, clean ------------------------------------------------------ */

static int verify_one(const struct env_call *call, const char *name)
{
	struct environment *e = NULL;
	struct err err = { 0 };
	int r = env_open(call, name, &e);

	if (r)
		return r;
	if (environment_verify(e, NULL, &err) < 0)
		r = complain("env", 1, "%s is damaged: %s; run fsd env build "
			     "%s", name, err.text, name);
	else
		printf("%s %.12s: every part is as its manifest says\n", name,
		       e->id);
	environment_unref(e);
	return r;
}

static int env_verify(const struct cli_command *self, int argc, char **argv)
{
	struct env_call call;
	int r = env_begin(self, argc, argv, &call);

	if (r)
		return r;
	for (int i = optind; i < argc; i++)
		r |= verify_one(&call, argv[i]);
	for (size_t i = 0; optind == argc && i < call.names.count; i++)
		r |= verify_one(&call, call.names.name[i].name);
	env_end(&call);
	return r;
}

static int env_rm(const struct cli_command *self, int argc, char **argv)
{
	struct env_call call;
	struct err err = { 0 };
	int r = env_begin(self, argc, argv, &call);

	if (r)
		return r;
	if (argc - optind != 1)
		r = usage(self);
	else if (!environment_names_find(&call.names, argv[optind]))
		r = no_such(&call, argv[optind]);
	else if (environment_remove(&call.dirs.places, argv[optind], &err) < 0)
		r = complain("env", 1, "%s", err.text);
	env_end(&call);
	return r;
}

/* Cleans the directory that this user may write, and no other. */
static int env_clean(const struct cli_command *self, int argc, char **argv)
{
	struct env_call call;
	struct environment_cleaned c = { 0 };
	struct err err = { 0 };
	const char *top;
	char size[32];
	int r = env_begin(self, argc, argv, &call);

	if (r)
		return r;
	top = environment_dirs_own(&call.dirs);
	if (optind < argc) {
		r = usage(self);
	} else if (environment_clean(&call.dirs.places, top, &c, &err) < 0) {
		r = complain("env", 1, "%s", err.text);
	} else {
		env_size(c.bytes, size);
		printf("removed %u downloads and %u sets without a name, %s, "
		       "in %s\n", c.sources, c.sets, size, top);
	}
	env_end(&call);
	return r;
}

int env_fit(const char *dir)
{
	struct environment_dirs dirs;
	struct environment_names names = { 0 };
	struct env_image image = { 0 };
	struct err err = { 0 };

	if (environment_dirs_find(NULL, dir, &dirs) < 0)
		return complain("image", 1, "%s", strerror(ENOMEM));
	env_image_read(dir, &image, &err);
	if (!err.code)
		environment_names(&dirs.places, &names, &err);
	for (size_t i = 0; !err.code && i < names.count; i++) {
		struct environment *e;
		struct err why = { 0 };
		const char *state = env_state(&dirs.places, &names.name[i],
					      &image, false, &e, &why);

		printf("environment %s %s%s\n", names.name[i].name,
		       !strcmp(state, "ready") ? "fits" :
		       !strcmp(state, "stale") ? "does not fit: " :
						 "is damaged: ", why.text);
		environment_unref(e);
	}
	environment_names_done(&names);
	environment_dirs_done(&dirs);
	env_image_done(&image);
	return err.code ? complain("image", 1, "%s", err.text) : 0;
}

/* --- warm: templates, where fsd template puts them ------------------------------- */

static int env_warm(const struct cli_command *self, int argc, char **argv)
{
	struct env_call call;
	int r = env_begin(self, argc, argv, &call);

	if (r)
		return r;
	for (int i = optind; r == 0 && i < argc; i++) {
		struct environment *e = NULL;

		r = env_open(&call, argv[i], &e);
		environment_unref(e);
	}
	if (r == 0 && optind == argc)
		r = usage(self);
	if (r == 0)
		r = template_of_environments(call.dir, argv + optind,
					     argc - optind);
	env_end(&call);
	return r;
}

/* --- the command -------------------------------------------------------------- */

static const struct cli_command env_verbs[] = {
	{ .name = "env build", .fn = env_build, .synopsis = "[OPTIONS] NAME",
	  .summary = "make one of packages, or make it again",
	  .options = env_build_cli_options, .operand = CLI_ENVIRONMENT,
	  .notes = "With NAME alone it makes the environment of that name again, by its\n"
		   "recipe. Nothing changed: it says so at once." },
	{ .name = "env list", .fn = env_list, .synopsis = "[OPTIONS]",
	  .summary = "list environments, and whether machines can have them",
	  .options = env_list_cli_options },
	{ .name = "env show", .fn = env_show, .synopsis = "[OPTIONS] NAME",
	  .summary = "tell what is in one, and how it is made again",
	  .options = env_show_cli_options, .operand = CLI_ENVIRONMENT },
	{ .name = "env verify", .fn = env_verify,
	  .synopsis = "[OPTIONS] [NAME]...",
	  .summary = "compare all bytes with the sums",
	  .options = env_cli_options, .operand = CLI_ENVIRONMENT,
	  .notes = "Without NAME it verifies all." },
	{ .name = "env warm", .fn = env_warm, .synopsis = "[OPTIONS] NAME...",
	  .summary = "make its template, so that its first job is quick",
	  .options = env_cli_options, .operand = CLI_ENVIRONMENT },
	{ .name = "env rm", .fn = env_rm, .synopsis = "[OPTIONS] NAME",
	  .summary = "remove one; jobs that run keep it",
	  .options = env_cli_options, .operand = CLI_ENVIRONMENT },
	{ .name = "env clean", .fn = env_clean, .synopsis = "[OPTIONS]",
	  .summary = "remove downloads, and sets that have no name",
	  .options = env_cli_options },
	{ .name = "env export", .fn = env_export,
	  .synopsis = "[OPTIONS] NAME FILE|-",
	  .summary = "write one to a file", .options = env_export_cli_options,
	  .operand = CLI_ENVIRONMENT },
	{ .name = "env import", .fn = env_import, .synopsis = "[OPTIONS] FILE|-",
	  .summary = "read one from a file", .options = env_import_cli_options,
	  .operand = CLI_FILE },
	{ 0 },
};

static int command_env(const struct cli_command *self, int argc, char **argv)
{
	const struct cli_command *verb;

	if (argc < 2)
		return usage(self);
	if (!strcmp(argv[1], "seal"))
		return env_seal(self, argc - 1, argv + 1);
	verb = cli_verb(self, argv[1]);
	if (!verb) {
		fprintf(stderr, "fsd env: there is no command \"%.80s\"; `fsd "
			"help env` lists them\n", argv[1]);
		return 2;
	}
	return verb->fn(verb, argc - 1, argv + 1);
}

const struct cli_command env_command = {
	.name = "env", .fn = command_env, .group = "This host",
	.synopsis = "COMMAND [OPTIONS] [ARG]...",
	.summary = "make, list and move environments: sets of software for jobs",
	.notes = "fsd-env(8) tells of each.", .verbs = env_verbs,
};
