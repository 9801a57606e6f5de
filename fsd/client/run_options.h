/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `fsd run`: one table for the command line, the help text and the
 * completion (cli/cmd_run.c), the keys of config.json and the words of messages.
 */
#ifndef FSD_RUN_OPTIONS_H
#define FSD_RUN_OPTIONS_H

#include "which_mount.h"

enum run_kind {
	RUN_FLAG,
	RUN_WORD,   /* the client's own */
	RUN_LIST,   /* may be given several times */
	RUN_STRING, /* a key of config.json */
	RUN_NUMBER, /* likewise */
	RUN_SIZE,   /* likewise, bytes that may end in K, M or G */
};

/* X(number, letter or 0, name, value, kind, key of config.json, help, what the value
 * is for completion, its words). The last three are cli's. */
#define RUN_OPTION_TABLE(X) \
	X(RUN_CODE, 'c', "code", "CODE", RUN_WORD, NULL, \
	  "the program itself instead of FILE;\n" \
	  "Python without -l", CLI_TEXT, NULL) \
	X(RUN_LANGUAGE, 'l', "language", "LANG", RUN_STRING, "language", \
	  "its language (default: by the ending of FILE,\n" \
	  "else by its #! line)", CLI_WORDS, \
	  "python javascript typescript bash") \
	X(RUN_INPUT, 'i', "input", "PATH", RUN_LIST, NULL, \
	  "a file or directory that the program finds in\n" \
	  "its working directory; repeatable", CLI_FILE, NULL) \
	X(RUN_OUTPUT, 'o', "output", "DIR", RUN_WORD, NULL, \
	  "make DIR with the results: stdout, stderr,\n" \
	  "output/, result.json, exit_code", CLI_DIR, NULL) \
	X(RUN_PROJECT, 'C', "project", "DIR", RUN_WORD, NULL, \
	  "all of DIR instead of FILE; its program is code.*", CLI_DIR, NULL) \
	X(RUN_MAIN, 0, "main", "FILE", RUN_WORD, NULL, \
	  "the program of -C, a path in DIR", CLI_FILE, NULL) \
	X(RUN_TIMEOUT, 't', "timeout", "SECONDS", RUN_NUMBER, "timeout", \
	  "end it after so long (default 30)", CLI_TEXT, NULL) \
	X(RUN_MEMORY, 'm', "memory", "MB", RUN_NUMBER, "memory_mb", \
	  "what it may use (default 256)", CLI_TEXT, NULL) \
	X(RUN_CPUS, 0, "cpus", "N", RUN_NUMBER, "cpus", \
	  "its processors (default 1)", CLI_TEXT, NULL) \
	X(RUN_ENV, 'e', "env", "NAME=VALUE", RUN_LIST, "env", \
	  "environment, repeatable", CLI_TEXT, NULL) \
	X(RUN_MODE, 0, "mode", "MODE", RUN_STRING, "mode", \
	  "how it is run, see jobtree(5)", CLI_WORDS, "script call cell") \
	X(RUN_ENVIRONMENT, 0, "environment", "NAME", RUN_STRING, \
	  "environment", "what its machine has besides the image\n" \
	  "(fsd env list)", CLI_ENVIRONMENT, NULL) \
	X(RUN_ENVIRONMENTS, 0, "environments", "DIR", RUN_WORD, NULL, \
	  "where a private mount finds environments", CLI_DIR, NULL) \
	X(RUN_SESSION, 0, "session", "NAME", RUN_STRING, "session", \
	  "in the living session of that name", CLI_TEXT, NULL) \
	X(RUN_PRIORITY, 0, "priority", "N", RUN_NUMBER, "priority", \
	  "from -100 to 100; higher ones begin first", CLI_TEXT, NULL) \
	X(RUN_RETRY, 0, "retry", "N", RUN_NUMBER, "retry", \
	  "so many more runs if fsd itself fails", CLI_TEXT, NULL) \
	X(RUN_STDOUT_LIMIT, 0, "stdout-limit", "SIZE", RUN_SIZE, \
	  "stdout_limit", "the most standard output that is kept; 10K,\n" \
	  "20M, 1G (default 64M)", CLI_TEXT, NULL) \
	X(RUN_STDERR_LIMIT, 0, "stderr-limit", "SIZE", RUN_SIZE, \
	  "stderr_limit", "the same of standard error (default 16M)", \
	  CLI_TEXT, NULL) \
	X(RUN_NO_STDIN, 'n', "no-stdin", NULL, RUN_FLAG, NULL, \
	  "leave standard input alone: the program's is empty", CLI_TEXT, NULL) \
	X(RUN_KEEP, 0, "keep", NULL, RUN_FLAG, NULL, \
	  "let the job stay in the mount, and say its path", CLI_TEXT, NULL) \
	X(RUN_JSON, 0, "json", NULL, RUN_FLAG, NULL, \
	  "print result.json instead of the streams", CLI_TEXT, NULL) \
	X(RUN_MOUNT, 0, "mount", "MNT", RUN_WORD, NULL, \
	  "through this mount (default: $FSD_MOUNT,\n" \
	  SERVICE_MOUNT ", else a private one)", CLI_MOUNT, NULL) \
	X(RUN_PRIVATE, 0, "private", NULL, RUN_FLAG, NULL, \
	  "through a private mount", CLI_TEXT, NULL)

#define RUN_NUMBER_OF(number, ...) number,
enum run_opt { RUN_OPTION_TABLE(RUN_NUMBER_OF) RUN_OPTIONS };

struct run_option {
	char letter;      /* or 0 */
	const char *name; /* the long form */
	const char *arg;  /* what follows, or NULL */
	enum run_kind kind;
	const char *key;  /* of config.json, or NULL */
};

extern const struct run_option run_options[RUN_OPTIONS];

/* "-m", or "--cpus" if there is no letter: as messages name it. */
const char *run_option_word(enum run_opt opt, char room[32]);

#endif
