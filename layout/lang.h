/* SPDX-License-Identifier: Apache-2.0 */
/* The languages: one table row each, found by name or by the code file. */
#ifndef LAYOUT_LANG_H
#define LAYOUT_LANG_H

#include <stdbool.h>
#include <stddef.h>

enum lang_id {
	LANG_PYTHON,
	LANG_JAVASCRIPT,
	LANG_TYPESCRIPT,
	LANG_BASH,
	LANG_MAX
};

struct lang {
	enum lang_id id;
	const char *name;        /* the directory under .fsd/templates/ */
	const char *extensions;  /* " .py " ..., each between blanks */
	const char *code;        /* what a program is called that has no file */
	const char *interpreter; /* absolute path in the image */
	const char *version_of;  /* package whose version is the language's */
	bool callable;           /* "mode": "call" is possible */
	enum lang_id lives_as;   /* whose interpreter runs its steps and cells */
	/* Environment names (prefixes, blank-separated) that only a freshly
	 * started interpreter heeds, e.g. PYTHON*, LC_*, LANG */
	const char *fresh_env;
};

extern const struct lang langs[LANG_MAX];

/* The language of the living interpreter that takes its steps. */
const struct lang *lang_living(const struct lang *lang);

/* Exact, case-sensitive. NULL if there is none. */
const struct lang *lang_by_name(const char *name);
/* By a code file's name ("code.py"); NULL for "code" or an unknown ending. */
const struct lang *lang_by_file(const char *file);

/* By the ending of any file. NULL for none. */
const struct lang *lang_by_ending(const char *file);
/* The same, in whatever case: "main.PY". NULL for none. */
const struct lang *lang_by_any_case(const char *file);

/*
 * What a file's name says about being the program: "code" or "code.EXT".
 * Backup and swap names ("code.py~", "code.py.swp", "code.js.bak", ...) are
 * CODE_NO: editors make them.
 */
enum code_kind {
	CODE_NO,      /* an ordinary file */
	CODE_KNOWN,   /* code.EXT of a language in the table */
	CODE_BARE,    /* "code": its #! line or "language" decides */
	CODE_UNKNOWN, /* code.EXT with an ending that no language has */
};
enum code_kind code_kind(const char *file);
#define CODE_NAME 16
/* The name of a program's file in a job, by its own name or path: "code.EXT" if a language
 * has its ending, else "code". Return: has one? */
bool code_name(const char *file, char ret[CODE_NAME]);

/* ".py, .js, .mjs, ..." for messages. */
const char *lang_extensions_text(void);
/* "python, javascript, ..." for messages. */
const char *lang_names_text(void);

/* True if patterns, "PREFIX_* NAME ...", have the name of NAME=value. */
bool lang_env_matches(const char *patterns, const char *assignment);
/* True if a variable NAME=value in env asks for a fresh interpreter. */
bool lang_env_is_fresh(const struct lang *lang, const char *assignment);

#endif
