/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The languages: one table, found by name or by a file's extension. A new language is a
 * row of LANG_TABLE; fsd/CONTRIBUTING.md says what else the guest needs. Pure.
 */
#ifndef LAYOUT_LANG_H
#define LAYOUT_LANG_H

#include <stdbool.h>
#include <stddef.h>

/*
 * X(id, runner, name, endings, members): the identifier behind LANG_, that behind
 * WIRE_RUN_ (guest/wire/wire.h; EXEC: no interpreter waits for its programs), the name
 * in config.json, E(ending) for each ending of a file, and the other members of struct
 * lang. Their order is the order of all texts.
 */
#define LANG_TABLE(X, E) \
	X(PYTHON, PYTHON, "python", E(".py"), \
	  .code = "code.py", .interpreter = "/usr/bin/python3", \
	  .package = "python3", .title = "Python", .aliases = "", \
	  .inline_name = "<string>", .comment = "#", .exit_error = "SystemExit", \
	  .callable = true, .imports = true, .lives_as = LANG_PYTHON, \
	  /* TZ: a forked interpreter has read it already */ \
	  .fresh_env = "PYTHON* LC_* LANG LANGUAGE TZ MALLOC_*") \
	X(JAVASCRIPT, NODE, "javascript", E(".js") E(".mjs") E(".cjs"), \
	  .code = "code.js", .interpreter = "/usr/bin/node", \
	  .package = "nodejs", .title = "Node", .aliases = " js ", \
	  .inline_name = "[eval]", .comment = "//", .exit_error = "ExitStatus", \
	  .callable = true, .imports = true, .lives_as = LANG_JAVASCRIPT, \
	  .fresh_env = "NODE_* UV_* LC_* LANG LANGUAGE SSL_* MALLOC_*") \
	X(TYPESCRIPT, TYPESCRIPT, "typescript", E(".ts") E(".mts"), \
	  .code = "code.ts", .interpreter = "/usr/bin/node", \
	  .package = "nodejs", .aliases = " ts ", \
	  .comment = "//", .exit_error = "ExitStatus", \
	  .callable = true, .erased = true, .imports = true, \
	  .lives_as = LANG_JAVASCRIPT, \
	  .fresh_env = "NODE_* UV_* LC_* LANG LANGUAGE SSL_* MALLOC_*") \
	X(BASH, BASH, "bash", E(".sh"), \
	  .code = "code.sh", .interpreter = "/bin/bash", \
	  .package = "bash", .title = "bash", .aliases = "", \
	  .comment = "#", .exit_error = "ExitStatus", \
	  .warm_is_plain = true, .lives_as = LANG_BASH, \
	  .fresh_env = "") /* a job with variables always gets a new bash */

#define LANG_ID(id, runner, name, endings, ...) LANG_##id,
#define LANG_NO_ENDING(ending)
enum lang_id { LANG_TABLE(LANG_ID, LANG_NO_ENDING) LANG_MAX };

/* The language that is taken if none is named and the file's name does not tell it. */
#define LANG_DEFAULT LANG_PYTHON

struct lang {
	enum lang_id id;
	const char *name;        /* the directory under .fsd/templates/ */
	const char *extensions;  /* " .py " ..., each between blanks */
	const char *code; /* file name of a program that is given as text */
	const char *interpreter; /* absolute path of the interpreter in the image */
	const char *package;     /* the image's package with the language's version */
	const char *title;       /* the package's name for people; NULL: another row of the
				  * package has it */
	const char *aliases;     /* " js ": other names that clients of the gateway use */
	const char *inline_name; /* a program that has no file is called so in
				  * tracebacks (`fsd run -c`); NULL: as its file */
	const char *comment;     /* the shortest program that does nothing */
	const char *exit_error;  /* the error of a cell that ends its interpreter */
	bool callable;           /* "mode": "call" is possible */
	bool erased; /* the runner erases its types first: only the runner
		      * can run it, and recognises it by the file's extension */
	bool imports; /* the modules of an environment can be imported
		       * before the program comes */
	bool warm_is_plain; /* the waiting interpreter runs `code` alone, without
			     * the job's arguments or variables */
	/* the language whose interpreter runs its steps and cells */
	enum lang_id lives_as;
	/* Variables (names or prefixes, separated by blanks) that an interpreter
	 * reads only at its start, such as PYTHON*, LC_*, LANG. */
	const char *fresh_env;
};

extern const struct lang langs[LANG_MAX];

/* Returns the language whose interpreter runs the steps and cells of lang. */
const struct lang *lang_living(const struct lang *lang);

/* Finds a language by its exact name. NULL: there is none. */
const struct lang *lang_by_name(const char *name);
/* Finds a language by its name or an alias. NULL: there is none. */
const struct lang *lang_by_alias(const char *name);
/* Finds a language by the name of a code file ("code.py"). NULL for "code" or
 * an unknown extension. */
const struct lang *lang_by_file(const char *file);

/* Finds a language by the extension of any file. NULL: there is none. */
const struct lang *lang_by_ending(const char *file);
/* Finds it by the extension in any case: "main.PY". NULL: there is none. */
const struct lang *lang_by_any_case(const char *file);

/*
 * Whether a file's name makes it the program: "code" or "code.EXT". Backup and
 * swap files of editors ("code.py~", "code.py.swp", "code.js.bak", ...) are
 * CODE_NO.
 */
enum code_kind {
	CODE_NO,      /* an ordinary file */
	CODE_KNOWN,   /* code.EXT of a language in the table */
	CODE_BARE, /* "code": its #! line or "language" decides */
	CODE_UNKNOWN, /* code.EXT with an extension of no language */
};
enum code_kind code_kind(const char *file);
#define CODE_NAME 16
/*
 * Returns in ret the name of a program's file in a job, for a file name or
 * path: "code.EXT" if a language has that extension, else "code". Return:
 * whether a language has it.
 */
bool code_name(const char *file, char ret[CODE_NAME]);

/* The extensions of all languages: ".py", ".js", ".mjs", ..., NULL. */
extern const char *const lang_endings[];
/* Returns ".py, .js, .mjs, ..." for messages. */
const char *lang_extensions_text(void);
#define LANG_COMMA_ENDING(ending) ", " ending
#define LANG_COMMA_NAME(id, runner, name, endings, ...) ", " name
#define LANG_BLANK_NAME(id, runner, name, endings, ...) " " name
/* The words "python javascript ..." of an option (cli/complete.c). */
#define LANG_WORDS (&LANG_TABLE(LANG_BLANK_NAME, LANG_NO_ENDING)[1])
/* Returns "python, javascript, ..." for messages. */
const char *lang_names_text(void);
struct lang_sentence {
	char text[sizeof(LANG_TABLE(LANG_COMMA_NAME, LANG_NO_ENDING)) + 4];
};
/* Returns the text "python, javascript, ... and bash" for messages. */
struct lang_sentence lang_names_sentence(void);

/*
 * Returns true if patterns, "PREFIX_* NAME ...", match the name of NAME=value.
 */
bool lang_env_matches(const char *patterns, const char *assignment);
/* Returns true if the variable NAME=value needs a fresh interpreter. */
bool lang_env_is_fresh(const struct lang *lang, const char *assignment);

#endif
