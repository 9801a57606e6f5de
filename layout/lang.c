/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the table of languages of LANG_TABLE, and finds a row by name or by a file's
 * ending.
 *
 * code_kind() separates the program from files beside it, such as an editor's backup.
 * The table is constant; there is no state.
 */
#include "lang.h"

#include <stdio.h>
#include <string.h>

#include "layout/base/num.h"

#define BLANK_ENDING(ending) " " ending
#define ROW(id_, runner, name_, endings, ...) \
	[LANG_##id_] = { .id = LANG_##id_, .name = name_, \
			 .extensions = endings " ", __VA_ARGS__ },

const struct lang langs[LANG_MAX] = { LANG_TABLE(ROW, BLANK_ENDING) };

#define ENDINGS(id, runner, name, endings, ...) endings
#define ELEMENT(ending) ending,
const char *const lang_endings[] = { LANG_TABLE(ENDINGS, ELEMENT) NULL };

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

const struct lang *lang_by_alias(const char *name)
{
	const struct lang *lang = lang_by_name(name);

	for (size_t i = 0; !lang && i < LANG_MAX; i++)
		if (has_word(langs[i].aliases, name))
			lang = &langs[i];
	return lang;
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
	/* code.py.bak, code.test.js, code.d.ts: not the program */
	if (strchr(file + 5, '.'))
		return CODE_NO;
	for (size_t i = 0; i < ARRAY_SIZE(backup_endings); i++)
		if (ends_with(file, backup_endings[i]))
			return CODE_NO;
	return CODE_UNKNOWN;
}

const char *lang_extensions_text(void)
{
	return &LANG_TABLE(ENDINGS, LANG_COMMA_ENDING)[2];
}

const char *lang_names_text(void)
{
	return &LANG_TABLE(LANG_COMMA_NAME, LANG_NO_ENDING)[2];
}

struct lang_sentence lang_names_sentence(void)
{
	struct lang_sentence s;
	const char *all = lang_names_text(), *last = strrchr(all, ',');

	snprintf(s.text, sizeof(s.text), "%.*s and%s", (int)(last - all), all,
		 last + 1);
	return s;
}

/* Matches one word of fresh_env against a name of name_len bytes. */
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
