/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands and their options as tables. One table is what getopt_long(3)
 * parses by, what help prints and what the shell completes: an option that is
 * in one of them is in all.
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
	CLI_WORDS, /* one of `words` */
	CLI_ENVIRONMENT, /* an environment's name */
	CLI_SANDBOX, /* a sandbox's name */
};

struct cli_option {
	int id;            /* a letter, or from CLI_LONG on: no short form */
	const char *name;  /* without "--"; NULL: only the letter */
	const char *value; /* its value's name, or NULL: it takes none */
	const char *help;  /* lines of at most CLI_HELP_WIDTH characters; NULL:
			      the option is no user's */
	enum cli_takes takes;
	const char *words; /* separated by blanks */
};
#define CLI_LONG 256
#define CLI_HELP_WIDTH 52

struct cli_command {
	const char *name;
	int (*fn)(int argc, char **argv);
	const char *group;    /* its heading in `fsd help`; NULL: no user's */
	const char *synopsis; /* behind the name */
	const char *summary;  /* one line */
	const struct cli_option *options; /* ends with id 0; NULL: none */
	enum cli_takes operand;
	const char *words;    /* of CLI_WORDS: the first operand */
	const char *notes;    /* below the options; NULL: none */
};

extern const struct cli_command cli_commands[]; /* ends with name NULL */
/* By "ls" or "env list". NULL: there is none. */
const struct cli_command *cli_find(const char *name);
/* Its own commands, named "env list" and so on, each with options of its own;
 * ends with name NULL. Without a summary: it is no user's. NULL: it has none. */
const struct cli_command *cli_verbs(const struct cli_command *command);
/* The verb of a command, by its own word; NULL: it has no such. */
const struct cli_command *cli_verb(const struct cli_command *command,
				   const char *word);
/* fn for each line of the help of options that another program has; for none of most. */
void cli_option_lines(const struct cli_command *command,
		      void (*fn)(void *arg, const char *line), void *arg);
/* The word that a verb is called by. */
const char *cli_word(const struct cli_command *verb);

/* The tables that getopt_long() wants. */
#define CLI_OPTIONS_MAX 48
struct cli_getopt {
	char letters[2 * CLI_OPTIONS_MAX + 2];
	struct option longs[CLI_OPTIONS_MAX + 1];
};
/* in_order: what follows the first operand is another program's. */
void cli_getopt(const struct cli_option *options, bool in_order,
		struct cli_getopt *ret);

/* The next option, as of getopt_long(3). What that complains of names the command, "env list",
 * and fsd. */
int cli_next(const char *command, int argc, char **argv,
	     const struct cli_getopt *g);

/* Its usage, options and notes. */
void cli_help(const struct cli_command *command, FILE *to);
/* All commands, in groups. */
void cli_help_all(FILE *to);
/* Prints what may follow on a command line; see complete.c. */
int command_complete(int argc, char **argv);
#define COMPLETE_COMMAND "complete" /* the shell's */

#endif
