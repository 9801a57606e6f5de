/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of `fsd env` share these options and functions. */
#ifndef FSD_CMD_ENV_H
#define FSD_CMD_ENV_H

#include "commands.h"
#include "fsd/server/default_dirs.h"
#include "vm/environment/write.h"

enum {
	ENV_OPT_DIR = CLI_LONG,
	ENV_OPT_SOURCES,
	ENV_OPT_NAME,
	ENV_OPT_OWN, /* the first number for a command's own options */
};
/* The row of a table of options that each command has. */
#define ENV_DIR_OPTION                                                       \
	{ ENV_OPT_DIR, "environments", "DIR", "where environments are "      \
	  "(default:\n$FSD_ENVIRONMENTS, then this user's and the\nhost's)", \
	  CLI_DIR, NULL }

/* The options of a command, and the directories that it uses. */
struct env_call {
	struct environment_dirs dirs;
	struct environment_names names;
	bool json, sources;
	const char *name; /* value of --name; NULL: not given */
	const char *dir;  /* value of --environments; NULL: the usual directories */
};
/* Reads the options of a verb and the names that there are. Return: 0 or an exit code,
 * and standard error has said why. */
int env_begin(const struct cli_command *self, int argc, char **argv,
	      struct env_call *ret);
void env_end(struct env_call *call);
/* Opens an environment by its name. Return: 0, or 1, and standard error has the
 * sentence. */
int env_open(const struct env_call *call, const char *name,
	     struct environment **ret);

/* The image that environments must fit. Without an image no environment is
 * called stale. */
struct env_image {
	bool known;
	char abi[96];
	struct buf packages; /* owned */
};
void env_image_read(const char *dir, struct env_image *ret, struct err *err);
void env_image_done(struct env_image *image);

/* Returns "ready"; or "stale" or "damaged", and *err has the reason. *ret: the
 * environment; NULL if it cannot be opened. sums: compares the checksums, too. */
const char *env_state(const struct environment_places *places,
		      const struct environment_name *name,
		      const struct env_image *image, bool sums,
		      struct environment **ret, struct err *err);

/* Prints for each environment whether it fits the image in dir. Return: 0 or 1. */
int env_fit(const char *dir);

/* Writes a size as "612 bytes" or "1.4 MB". */
void env_size(uint64_t bytes, char ret[32]);

extern const struct cli_option env_build_cli_options[],
	env_list_cli_options[],
	env_show_cli_options[], env_export_cli_options[],
	env_import_cli_options[];
int env_build(const struct cli_command *self, int argc, char **argv);
/* `fsd env seal`, which the program of `fsd env build` calls with the files that it made.
 * self: the command `fsd env`. */
int env_seal(const struct cli_command *self, int argc, char **argv);
int env_list(const struct cli_command *self, int argc, char **argv);
int env_show(const struct cli_command *self, int argc, char **argv);
int env_export(const struct cli_command *self, int argc, char **argv);
int env_import(const struct cli_command *self, int argc, char **argv);

#endif
