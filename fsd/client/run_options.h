/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `fsd run`, `fsd submit`, `fsd batch` and `fsd sandbox new`: one table
 * for the command line, the help text and the completion (cli/cmd_run.c), the keys of
 * config.json and the words of messages.
 */
#ifndef FSD_RUN_OPTIONS_H
#define FSD_RUN_OPTIONS_H

#include "which_mount.h"

enum run_kind {
	RUN_FLAG,
	RUN_WORD,   /* the client's own */
	RUN_LIST,   /* may be given several times */
	RUN_STRING, /* a key of config.json */
	RUN_NUMBER, /* a number, for the key of config.json */
	RUN_SIZE,   /* bytes, for the key; the text may end in K, M or G */
};

/* X(number, letter or 0, name, value, kind, key of config.json, help, what the value is
 * for completion, its words). The last three are cli's. It has parts by the commands that
 * take an option: both of jobs and `fsd sandbox new`, both of jobs, one. */
#define MACHINE_OPTION_TABLE(X) \
	X(RUN_ENVIRONMENT, 0, "environment", "NAME", RUN_STRING, \
	  "environment", "what its machine has besides the image\n" \
	  "(fsd env list)", CLI_ENVIRONMENT, NULL) \
	X(RUN_PACKAGES, 0, "packages", "SPEC", RUN_LIST, "packages", \
	  "a package that it needs, such as pandas==2.2.3;\n" \
	  "repeatable", CLI_TEXT, NULL) \
	X(RUN_NETWORK, 0, "network", "RULE", RUN_LIST, "network", \
	  "a server that it may reach, such as example.org or\n" \
	  "10.0.0.5:80; repeatable; see jobtree(5)", CLI_TEXT, NULL) \
	X(RUN_MEMORY, 'm', "memory", "MB", RUN_NUMBER, "memory_mb", \
	  "what it may use (default 256)", CLI_TEXT, NULL) \
	X(RUN_CPUS, 0, "cpus", "N", RUN_NUMBER, "cpus", \
	  "its processors (default 1)", CLI_TEXT, NULL) \
	X(RUN_PROCESSES, 0, "processes", "N", RUN_NUMBER, "processes", \
	  "its processes and threads (default 256)", CLI_TEXT, NULL) \
	X(RUN_ENV, 'e', "env", "NAME=VALUE", RUN_LIST, "env", \
	  "environment, repeatable", CLI_TEXT, NULL) \
	X(RUN_MOUNT, 'M', "mount", "MNT", RUN_WORD, NULL, \
	  "through this mount (default: $FSD_MOUNT,\n" \
	  SERVICE_MOUNT "; run, batch: else a private one)", CLI_MOUNT, NULL)

#define PROGRAM_OPTION_TABLE(X) \
	X(RUN_CODE, 'c', "code", "CODE", RUN_WORD, NULL, \
	  "the program itself instead of FILE;\n" \
	  "Python without -l", CLI_TEXT, NULL) \
	X(RUN_LANGUAGE, 'l', "language", "LANG", RUN_STRING, "language", \
	  "its language (default: by the ending of FILE,\n" \
	  "else by its #! line)", CLI_WORDS, \
	  LANG_WORDS) \
	X(RUN_INPUT, 'i', "input", "PATH", RUN_LIST, NULL, \
	  "a file or directory that the program finds in\n" \
	  "its working directory; repeatable; of \".\" and\n" \
	  "\"..\" all that is in it", CLI_FILE, NULL) \
	X(RUN_RELATIVE, 'R', "relative", NULL, RUN_FLAG, NULL, \
	  "an input stays at its path, which is relative and\n" \
	  "has no \"..\"", CLI_TEXT, NULL) \
	X(RUN_PROJECT, 'C', "project", "DIR", RUN_WORD, NULL, \
	  "all of DIR instead of FILE; its program is code.*", CLI_DIR, NULL) \
	X(RUN_MAIN, 0, "main", "FILE", RUN_WORD, NULL, \
	  "the program of DIR, a path in it", CLI_FILE, NULL) \
	X(RUN_FOLLOW, 'L', "dereference", NULL, RUN_FLAG, NULL, \
	  "copy what symbolic links lead to", CLI_TEXT, NULL) \
	X(RUN_TIMEOUT, 't', "timeout", "SECONDS", RUN_NUMBER, "timeout", \
	  "end it after so long (default 30)", CLI_TEXT, NULL) \
	X(RUN_GRACE, 0, "grace", "SECONDS", RUN_NUMBER, "grace", \
	  "how long SIGTERM comes before SIGKILL then\n" \
	  "(default 0)", CLI_TEXT, NULL) \
	X(RUN_LINGER, 0, "linger", "SECONDS", RUN_NUMBER, "linger", \
	  "how long what it leaves running may go on\n" \
	  "(default 1)", CLI_TEXT, NULL) \
	X(RUN_MODE, 0, "mode", "MODE", RUN_STRING, "mode", \
	  "how it is run, see jobtree(5)", CLI_WORDS, "script call cell") \
	X(RUN_PRIORITY, 0, "priority", "N", RUN_NUMBER, "priority", \
	  "from -100 to 100; higher ones begin first", CLI_TEXT, NULL) \
	X(RUN_RETRY, 0, "retry", "N", RUN_NUMBER, "retry", \
	  "so many more runs if fsd itself fails", CLI_TEXT, NULL) \
	X(RUN_RETRY_NETWORK, 0, "retry-network", NULL, RUN_FLAG, "retry_network", \
	  "a retry may use --network again", CLI_TEXT, NULL) \
	X(RUN_STDOUT_LIMIT, 0, "stdout-limit", "SIZE", RUN_SIZE, \
	  "stdout_limit", "the most standard output that is kept; 10K,\n" \
	  "20M, 1G (default 64M)", CLI_TEXT, NULL) \
	X(RUN_STDERR_LIMIT, 0, "stderr-limit", "SIZE", RUN_SIZE, \
	  "stderr_limit", "the same of standard error (default 16M)", \
	  CLI_TEXT, NULL) \
	X(RUN_OUTPUT_LIMIT, 0, "output-limit", "SIZE", RUN_SIZE, \
	  "output_limit", "the same of all files of output/ (default 256M)", \
	  CLI_TEXT, NULL)

#define ONE_JOB_OPTION_TABLE(X) \
	X(RUN_SESSION, 0, "session", "NAME", RUN_STRING, "session", \
	  "in the living session of that name", CLI_TEXT, NULL) \
	X(RUN_SANDBOX, 0, "sandbox", "NAME", RUN_STRING, "sandbox", \
	  "in that sandbox (fsd sandbox)", CLI_SANDBOX, NULL) \
	X(RUN_RETAIN, 0, "retain", "SECONDS", RUN_NUMBER, "retain", \
	  "remove it so long after its end", CLI_TEXT, NULL) \
	X(RUN_NO_STDIN, 'n', "no-stdin", NULL, RUN_FLAG, NULL, \
	  "leave standard input alone: the program's is empty", CLI_TEXT, NULL)

/* For one machine: the socket of a port is named to a user, who connects to it. */
#define PORT_OPTION_TABLE(X) \
	X(RUN_PORT, 0, "port", "N", RUN_LIST, "ports", \
	  "a port that it serves, which has a socket in the\n" \
	  "mount; repeatable", CLI_TEXT, NULL)

#define JOB_OPTION_TABLE(X) \
	PROGRAM_OPTION_TABLE(X) ONE_JOB_OPTION_TABLE(X) PORT_OPTION_TABLE(X)

#define RUN_ONLY_TABLE(X) \
	X(RUN_OUTPUT, 'o', "output", "DIR", RUN_WORD, NULL, \
	  "make DIR with the results: stdout, stderr,\n" \
	  "output/, result.json, exit_code", CLI_DIR, NULL) \
	X(RUN_REPLACE, 'f', "replace", NULL, RUN_FLAG, NULL, \
	  "-o may replace the results of a run before", CLI_TEXT, NULL) \
	X(RUN_FORCE, 0, "force", NULL, RUN_FLAG, NULL, \
	  NULL /* --replace by its old name */, CLI_TEXT, NULL) \
	X(RUN_GET, 'g', "get", "PATH", RUN_LIST, NULL, \
	  "the program's file or directory PATH appears at\n" \
	  "PATH here; repeatable", CLI_FILE, NULL) \
	X(RUN_KEEP, 0, "keep", NULL, RUN_FLAG, NULL, \
	  "let the job stay in the mount, and say its path", CLI_TEXT, NULL) \
	X(RUN_JSON, 0, "json", NULL, RUN_FLAG, NULL, \
	  "print result.json instead of the streams", CLI_TEXT, NULL)

#define PRIVATE_OPTION_TABLE(X) \
	X(RUN_ENVIRONMENTS, 0, "environments", "DIR", RUN_WORD, NULL, \
	  "where a private mount finds environments", CLI_DIR, NULL) \
	X(RUN_PRIVATE, 0, "private", NULL, RUN_FLAG, NULL, \
	  "through a private mount", CLI_TEXT, NULL)

#define SUBMIT_ONLY_TABLE(X) \
	X(SUBMIT_NAME, 0, "name", "NAME", RUN_WORD, NULL, \
	  "the job's name; without it that of FILE or DIR,\n" \
	  "with a number if it is taken", CLI_TEXT, NULL) \
	X(SUBMIT_KEEP, 0, "keep", NULL, RUN_FLAG, NULL, \
	  "keep a job that was refused, to mend it", CLI_TEXT, NULL)

#define SANDBOX_ONLY_TABLE(X) \
	X(SANDBOX_IDLE, 0, "idle", "SECONDS", RUN_NUMBER, "idle", \
	  "it ends after so long without a job\n" \
	  "(default 600); 0: never", CLI_TEXT, NULL) \
	X(SANDBOX_LIFE, 0, "life", "SECONDS", RUN_NUMBER, "life", \
	  "it ends so long after its making", CLI_TEXT, NULL)

#define RUN_OPTION_TABLE(X) \
	JOB_OPTION_TABLE(X) MACHINE_OPTION_TABLE(X) RUN_ONLY_TABLE(X) \
	PRIVATE_OPTION_TABLE(X) \
	SUBMIT_ONLY_TABLE(X) SANDBOX_ONLY_TABLE(X)

#define RUN_NUMBER_OF(number, ...) number,
enum run_opt { RUN_OPTION_TABLE(RUN_NUMBER_OF) RUN_OPTIONS };

struct run_option {
	char letter;      /* 0: no short form */
	const char *name; /* the long form */
	const char *arg;  /* name of its value in the help text, or NULL */
	enum run_kind kind;
	const char *key;  /* key of config.json, or NULL */
};

extern const struct run_option run_options[RUN_OPTIONS];

/* Returns "-m", or "--cpus" if there is no letter, for messages. */
const char *run_option_word(enum run_opt opt, char room[32]);

#endif
