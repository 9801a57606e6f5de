/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands and their options as tables. getopt_long(3), the help text and the shell's
 * completion all use the same table, so each option is in all three. main.c lists the
 * commands.
 */
#ifndef FSD_OPTIONS_H
#define FSD_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

/* The kind of a value or an operand, for completion. */
enum cli_takes {
	CLI_TEXT,  /* nothing that can be guessed */
	CLI_FILE,
	CLI_DIR,
	CLI_MOUNT, /* a directory */
	CLI_JOB,   /* a job's name or path */
	CLI_WORDS, /* one word of cli_option.words */
	CLI_ENVIRONMENT, /* an environment's name */
	CLI_SANDBOX, /* a sandbox's name */
	CLI_COMMAND, /* a command of fsd */
};

struct cli_option {
	int id;            /* a letter, or from CLI_LONG on: no short form */
	const char *name;  /* without "--"; NULL: only the letter */
	const char *value; /* name of its value in the help text; NULL: it has no value */
	const char *help;  /* help text, lines of at most CLI_HELP_WIDTH characters; NULL:
			    * the option is not for users */
	enum cli_takes takes;
	const char *words; /* separated by blanks */
};
#define CLI_LONG 256
#define CLI_HELP_WIDTH 52

/* A command, in the file of its code. */
struct cli_command {
	const char *name; /* "ls"; of a command's own command "env list" */
	/* argv[0] is its last word. Return: the process's exit code: 0, 1 failure, 2
	 * usage; of `run` the job's. */
	int (*fn)(const struct cli_command *self, int argc, char **argv);
	const char *group;    /* heading above it in `fsd help`; NULL: not for users */
	const char *synopsis; /* text behind the command's name */
	const char *summary;  /* one line of text for `fsd help` */
	const struct cli_option *options; /* ends with id 0; NULL: none */
	enum cli_takes operand;
	const char *words;    /* the words that the first operand may be, with
			       * CLI_WORDS */
	const char *notes;    /* below the options; NULL: none */
	/* Subcommands, each with options of its own; the last one has name NULL. NULL:
	 * there are none. */
	const struct cli_command *verbs;
	bool in_order; /* words behind the first operand belong to another program */
	/* Calls fn for each line of the help of options that another program has.
	 * NULL: there are none. */
	void (*option_lines)(void (*fn)(void *arg, const char *line), void *arg);
};

/* Return: the verb of a command, by its own word; NULL: it has no such verb. */
const struct cli_command *cli_verb(const struct cli_command *command,
				   const char *word);
/* Return: the word by which a verb is called. */
const char *cli_word(const struct cli_command *verb);

/* The tables that getopt_long() wants. */
#define CLI_OPTIONS_MAX 64
struct cli_getopt {
	char letters[2 * CLI_OPTIONS_MAX + 2];
	struct option longs[CLI_OPTIONS_MAX + 1];
};
void cli_getopt(const struct cli_command *command, struct cli_getopt *ret);

/* Return: the next option, as getopt_long(3). An error message names fsd and the command,
 * such as "fsd env list". */
int cli_next(const struct cli_command *command, int argc, char **argv,
	     const struct cli_getopt *g);

/* Prints the command's usage, options and notes. */
void cli_help(const struct cli_command *command, FILE *to);
/* Prints the command's usage in one line on standard error. Return: 2. */
int usage(const struct cli_command *command);

#endif
