/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the words that may follow on a command line, for the shell's completion:
 *
 *   fsd complete N WORD...   N: which of the words is completed, from 0
 *
 * It prints one candidate a line. A line ":files" or ":dirs" before them tells
 * the shell to add names of files. It asks no mount but for jobs' names.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "complete.h"
#include "fsd/client/where.h"
#include "fsd/server/default_dirs.h"
#include "layout/layout.h"

#define SANDBOXES "/" FSD_DIR_NAME "/sandboxes"

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void offer(const char *prefix, const char *text)
{
	if (begins(text, prefix))
		puts(text);
}

static void offer_words(const char *prefix, const char *words)
{
	char word[64];

	while (words && *words) {
		size_t len = strcspn(words, " ");

		snprintf(word, sizeof(word), "%.*s", (int)len, words);
		offer(prefix, word);
		words += len + (words[len] == ' ');
	}
}

static void offer_commands(const char *prefix,
			   const struct cli_command *const *commands)
{
	for (; *commands; commands++)
		offer(prefix, (*commands)->name);
}

static const struct cli_command *find(const struct cli_command *const *commands,
				      const char *name)
{
	while (*commands && strcmp((*commands)->name, name) != 0)
		commands++;
	return *commands;
}

static void offer_verbs(const char *prefix, const struct cli_command *c)
{
	for (const struct cli_command *v = c->verbs; v && v->name; v++)
		if (v->summary)
			offer(prefix, cli_word(v));
}

static void offer_environments(const char *prefix)
{
	struct environment_dirs dirs;
	struct environment_names names;

	if (environment_dirs_find(NULL, NULL, &dirs) < 0)
		return;
	if (environment_names(&dirs.places, &names, NULL) == 0) {
		for (size_t i = 0; i < names.count; i++)
			offer(prefix, names.name[i].name);
		environment_names_done(&names);
	}
	environment_dirs_done(&dirs);
}

/* Offers the option in a help line such as "  --mount MNT    the mount". arg: the
 * beginning of the word. */
static void offer_line(void *arg, const char *line)
{
	char option[64];

	if (sscanf(line, " %63[a-z-]", option) == 1 && begins(option, "--") &&
	    strcmp(option, "--help") != 0)
		offer(arg, option);
}

static void offer_options(char *prefix, const struct cli_command *c)
{
	char text[64];

	for (const struct cli_option *o = c->options; o && o->id; o++) {
		if (!o->help)
			continue;
		if (o->name) {
			snprintf(text, sizeof(text), "--%s", o->name);
			offer(prefix, text);
		}
		/* Offers short options only if no longer text was begun. */
		snprintf(text, sizeof(text), "-%c", o->id);
		if (o->id < CLI_LONG && (!o->name || strcmp(prefix, "-") == 0))
			offer(prefix, text);
	}
	if (c->option_lines)
		c->option_lines(offer_line, prefix);
	offer(prefix, "--help");
}

static void offer_jobs(const char *prefix, const char *mount)
{
	char mnt[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	puts(":files"); /* a path of one */
	if (strchr(prefix, '/') || where_mount(mount, mnt, NULL) < 0)
		return;
	dir = opendir(mnt);
	while (dir && (e = readdir(dir)))
		if (!is_dots(e->d_name) && strcmp(e->d_name, FSD_DIR_NAME) &&
		    (prefix[0] == '.' || e->d_name[0] != '.'))
			offer(prefix, e->d_name);
	if (dir)
		closedir(dir);
}

static void offer_sandboxes(const char *prefix, const char *mount)
{
	char mnt[PATH_MAX], path[PATH_MAX + sizeof(SANDBOXES)];
	struct dirent *e;
	DIR *dir;

	if (where_mount(mount, mnt, NULL) < 0)
		return;
	snprintf(path, sizeof(path), "%s" SANDBOXES, mnt);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (!is_dots(e->d_name))
			offer(prefix, e->d_name);
	if (dir)
		closedir(dir);
}

static void offer_value(const char *prefix, enum cli_takes takes,
			const char *words, const char *mount)
{
	switch (takes) {
	case CLI_TEXT:
	case CLI_COMMAND: /* the first operand alone, see cli_complete() */
		return;
	case CLI_FILE:
		puts(":files");
		return;
	case CLI_DIR:
	case CLI_MOUNT:
		puts(":dirs");
		return;
	case CLI_JOB:
		offer_jobs(prefix, mount);
		return;
	case CLI_WORDS:
		offer_words(prefix, words);
		return;
	case CLI_ENVIRONMENT:
		offer_environments(prefix);
		return;
	case CLI_SANDBOX:
		offer_sandboxes(prefix, mount);
		return;
	}
}

/* Return: the option of a word such as "--mount", "--mount=x", "-M"; NULL: none. */
static const struct cli_option *option_of(const struct cli_command *c,
					  const char *word)
{
	size_t len = strcspn(word, "=");

	for (const struct cli_option *o = c->options; o && o->id; o++) {
		if (begins(word, "--") && o->name &&
		    strlen(o->name) == len - 2 &&
		    !strncmp(word + 2, o->name, len - 2))
			return o;
		if (word[0] == '-' && word[1] == o->id && !word[2])
			return o;
	}
	return NULL;
}

struct line {
	const struct cli_command *c;
	const struct cli_option *open; /* the option whose value comes next, or NULL */
	const char *mount;             /* the value of --mount, or NULL */
	unsigned operands;             /* operands before the word */
};

/* Reads the words between the command and the word that is completed. */
static void take_words(struct line *l, int count, char **word)
{
	for (int i = 0; i < count; i++) {
		const struct cli_option *o;

		/* The shell gives "=" as a word of its own. */
		if (!strcmp(word[i], "=") && l->open)
			continue;
		if (l->open) {
			if (l->open->takes == CLI_MOUNT)
				l->mount = word[i];
			l->open = NULL;
			continue;
		}
		if (word[i][0] != '-' || !word[i][1]) {
			l->operands++;
			continue;
		}
		o = option_of(l->c, word[i]);
		if (o && o->value && !strchr(word[i], '='))
			l->open = o;
		else if (o && o->takes == CLI_MOUNT && strchr(word[i], '='))
			l->mount = strchr(word[i], '=') + 1;
	}
}

int cli_complete(const struct cli_command *const *commands, int argc, char **argv)
{
	struct line l = { 0 };
	uint64_t at;
	char nothing[] = "", *word;

	/* Word 0 is "fsd". */
	if (argc < 3 || parse_u64(argv[1], 1, (uint64_t)argc, &at) < 0)
		return 2;
	argv += 2;
	argc -= 2;
	word = (int)at < argc ? argv[at] : nothing;
	if (at == 1) {
		offer_commands(word, commands);
		return 0;
	}
	l.c = find(commands, argv[1]);
	if (!l.c)
		return 0;
	if (l.c->verbs && at == 2) {
		offer_verbs(word, l.c);
		return 0;
	}
	if (l.c->verbs) {
		l.c = cli_verb(l.c, argv[2]);
		if (!l.c)
			return 0;
		argv++;
		argc--;
		at--;
	}
	take_words(&l, (int)MIN(at, (uint64_t)argc) - 2, argv + 2);
	if (l.open)
		offer_value(strcmp(word, "=") ? word : "", l.open->takes,
			    l.open->words, l.mount);
	else if (l.c->operand == CLI_COMMAND && !l.operands)
		offer_commands(word, commands);
	else if (word[0] == '-')
		offer_options(word, l.c);
	else if (l.c->operand == CLI_WORDS && l.operands)
		puts(":dirs");
	else
		offer_value(word, l.c->operand, l.c->words, l.mount);
	return 0;
}
