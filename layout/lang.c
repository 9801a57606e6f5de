/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the table of languages, and finds a row by name or by a file's ending. A new
 * language is a new row here and a runner in guest/.
 *
 * code_kind() separates the program from files beside it, such as an editor's backup.
 * The table is constant; there is no state.
 */
#include "lang.h"

#include <string.h>

#include "layout/base/num.h"

const struct lang langs[LANG_MAX] = {
	[LANG_PYTHON] = {
		.id = LANG_PYTHON,
		.name = "python",
		.extensions = " .py ",
		.code = "code.py",
		.interpreter = "/usr/bin/python3",
		.version_of = "python3",
		.callable = true,
		.lives_as = LANG_PYTHON,
		/* TZ: a forked interpreter has read it already */
		.fresh_env = "PYTHON* LC_* LANG LANGUAGE TZ MALLOC_*",
	},
	[LANG_JAVASCRIPT] = {
		.id = LANG_JAVASCRIPT,
		.name = "javascript",
		.extensions = " .js .mjs .cjs ",
		.code = "code.js",
		.interpreter = "/usr/bin/node",
		.version_of = "nodejs",
		.callable = true,
		.lives_as = LANG_JAVASCRIPT,
		.fresh_env = "NODE_* UV_* LC_* LANG LANGUAGE SSL_* MALLOC_*",
	},
	[LANG_TYPESCRIPT] = {
		.id = LANG_TYPESCRIPT,
		.name = "typescript",
		.extensions = " .ts .mts ",
		.code = "code.ts",
		.interpreter = "/usr/bin/node",
		.version_of = "nodejs",
		.callable = true,
		.lives_as = LANG_JAVASCRIPT,
		.fresh_env = "NODE_* UV_* LC_* LANG LANGUAGE SSL_* MALLOC_*",
	},
	[LANG_BASH] = {
		.id = LANG_BASH,
		.name = "bash",
		.extensions = " .sh ",
		.code = "code.sh",
		.interpreter = "/bin/bash",
		.version_of = "bash",
		.lives_as = LANG_BASH,
		.fresh_env = "", /* it is always started afresh */
	},
};

/* Endings of code.* that editors and tools give to copies of the program. */
static const char *const backup_endings[] = {
	"~",    ".bak", ".swp", ".swo",  ".swx",
	".tmp", ".old", ".orig", ".part", "___jb_tmp___",
	"___jb_old___",
};

static bool ends_with(const char *text, const char *ending)
{
	size_t len = strlen(text), end = strlen(ending);

	return len >= end && !strcmp(text + len - end, ending);
}

const struct lang *lang_living(const struct lang *lang)
{
	return &langs[lang->lives_as];
}

const struct lang *lang_by_name(const char *name)
{
	for (size_t i = 0; i < LANG_MAX; i++)
		if (!strcmp(langs[i].name, name))
			return &langs[i];
	return NULL;
}

/* True if one of the blank-separated words in list is exactly word. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (strcspn(at, " ") == len && !strncmp(at, word, len))
			return len > 0;
	}
	return false;
}

const struct lang *lang_by_ending(const char *file)
{
	const char *dot = strrchr(file, '.');

	for (size_t i = 0; dot && i < LANG_MAX; i++)
		if (has_word(langs[i].extensions, dot))
			return &langs[i];
	return NULL;
}

const struct lang *lang_by_file(const char *file)
{
	const char *dot = strchr(file, '.');

	if (!dot || dot - file != 4 || strncmp(file, "code", 4))
		return NULL;
	return strchr(dot + 1, '.') ? NULL : lang_by_ending(file);
}

const struct lang *lang_by_any_case(const char *file)
{
	const char *dot = strrchr(file, '.');
	char small[16] = "code";

	if (!dot || strlen(dot) > 8)
		return NULL;
	for (size_t i = 0; dot[i]; i++)
		small[4 + i] = dot[i] >= 'A' && dot[i] <= 'Z'
				       ? (char)(dot[i] - 'A' + 'a')
				       : dot[i];
	return lang_by_file(small);
}

bool code_name(const char *file, char ret[CODE_NAME])
{
	const char *dot = strrchr(file, '.');
	size_t len = dot && !strchr(dot, '/') ? strlen(dot) : 0;

	memcpy(ret, "code", 5);
	if (!len || len > CODE_NAME - 5)
		return false;
	memcpy(ret + 4, dot, len + 1);
	if (code_kind(ret) == CODE_KNOWN)
		return true;
	ret[4] = '\0';
	return false;
}

enum code_kind code_kind(const char *file)
{
	if (!strcmp(file, "code"))
		return CODE_BARE;
	if (strncmp(file, "code.", 5))
		return CODE_NO;
	if (lang_by_file(file))
		return CODE_KNOWN;
	/* code.py.bak, code.test.js, code.d.ts: files beside the program */
	if (strchr(file + 5, '.'))
		return CODE_NO;
	for (size_t i = 0; i < ARRAY_SIZE(backup_endings); i++)
		if (ends_with(file, backup_endings[i]))
			return CODE_NO;
	return CODE_UNKNOWN;
}

const char *lang_extensions_text(void)
{
	return ".py, .js, .mjs, .cjs, .ts, .mts, .sh";
}

const char *lang_names_text(void)
{
	return "python, javascript, typescript, bash";
}

/* One word of fresh_env against a name of name_len bytes. */
static bool pattern_matches(const char *word, size_t word_len,
			    const char *name, size_t name_len)
{
	if (word_len && word[word_len - 1] == '*')
		return name_len >= word_len - 1 &&
		       !strncmp(word, name, word_len - 1);
	return name_len == word_len && !strncmp(word, name, name_len);
}

bool lang_env_matches(const char *patterns, const char *assignment)
{
	size_t name_len = strcspn(assignment, "=");
	size_t len;

	for (const char *at = patterns; *at; at += len) {
		at += strspn(at, " ");
		len = strcspn(at, " ");
		if (pattern_matches(at, len, assignment, name_len))
			return true;
	}
	return false;
}

bool lang_env_is_fresh(const struct lang *lang, const char *assignment)
{
	return lang && lang_env_matches(lang->fresh_env, assignment);
}
