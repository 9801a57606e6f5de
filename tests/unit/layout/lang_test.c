/* SPDX-License-Identifier: Apache-2.0 */
/* Languages by name and by file; what is the program and what is not. */
#include "layout/lang.h"

#include "tests/unit/tap.h"

static const struct {
	const char *file;
	enum code_kind kind;
	const char *lang; /* or NULL */
} files[] = {
	{ "code.py", CODE_KNOWN, "python" },
	{ "code.js", CODE_KNOWN, "javascript" },
	{ "code.mjs", CODE_KNOWN, "javascript" },
	{ "code.cjs", CODE_KNOWN, "javascript" },
	{ "code.ts", CODE_KNOWN, "typescript" },
	{ "code.mts", CODE_KNOWN, "typescript" },
	{ "code.sh", CODE_KNOWN, "bash" },
	{ "code", CODE_BARE, NULL },
	{ "code.rb", CODE_UNKNOWN, NULL },
	{ "code.PY", CODE_UNKNOWN, NULL },
	{ "code.p", CODE_UNKNOWN, NULL },
	{ "code.pyc", CODE_UNKNOWN, NULL },
	{ "code.", CODE_UNKNOWN, NULL },
	{ "code. .js", CODE_NO, NULL },
	{ "code.py ", CODE_UNKNOWN, NULL },
	{ "code.py~", CODE_NO, NULL },
	{ "code~", CODE_NO, NULL },
	{ "code.py.swp", CODE_NO, NULL },
	{ ".code.py.swp", CODE_NO, NULL },
	{ "code.js.bak", CODE_NO, NULL },
	{ "code.bak", CODE_NO, NULL },
	{ "code.py___jb_tmp___", CODE_NO, NULL },
	{ "code.d.ts", CODE_NO, NULL },
	{ "code.test.js", CODE_NO, NULL },
	{ "#code.py#", CODE_NO, NULL },
	{ "encode.py", CODE_NO, NULL },
	{ "code_util.py", CODE_NO, NULL },
	{ "codex", CODE_NO, NULL },
	{ "Code.py", CODE_NO, NULL },
	{ "main.py", CODE_NO, NULL },
	{ "", CODE_NO, NULL },
};

static void test_files(void)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct lang *lang = lang_by_file(files[i].file);

		is_int(code_kind(files[i].file), files[i].kind,
		       "\"%s\" is of its kind", files[i].file);
		is_str(lang ? lang->name : NULL, files[i].lang,
		       "\"%s\" is in its language", files[i].file);
	}
}

/* The texts for people must not fall behind the table. */
static void test_texts(void)
{
	char names[256] = "", endings[256] = "";

	for (size_t i = 0; i < LANG_MAX; i++) {
		char copy[64];
		char *save = NULL;

		is_int(langs[i].id, (long long)i, "%s is in its row",
		       langs[i].name);
		ok(lang_by_name(langs[i].name) == &langs[i],
		   "%s is found by its name", langs[i].name);
		snprintf(names + strlen(names), 64, "%s%s", i ? ", " : "",
			 langs[i].name);
		snprintf(copy, sizeof(copy), "%s", langs[i].extensions);
		for (char *e = strtok_r(copy, " ", &save); e;
		     e = strtok_r(NULL, " ", &save))
			snprintf(endings + strlen(endings), 64, "%s%s",
				 *endings ? ", " : "", e);
	}
	is_str(lang_names_text(), names, "the text has every name");
	is_str(lang_extensions_text(), endings, "the text has every ending");
	ok(!lang_by_name("Python"), "names are case-sensitive");
	ok(!lang_by_name(""), "no language has no name");
}

static void test_aliases(void)
{
	struct lang_sentence all = lang_names_sentence();

	ok(lang_by_alias("js") == &langs[LANG_JAVASCRIPT], "js is an alias");
	ok(lang_by_alias("ts") == &langs[LANG_TYPESCRIPT], "so is ts");
	ok(lang_by_alias("bash") == &langs[LANG_BASH], "a name is one, too");
	ok(!lang_by_alias("py") && !lang_by_alias("") && !lang_by_alias("js ts"),
	   "and nothing else");
	is_str(all.text, "python, javascript, typescript and bash",
	       "a sentence ends with \"and\"");
}

static void test_env(void)
{
	const struct lang *py = &langs[LANG_PYTHON], *js = &langs[LANG_BASH];

	ok(lang_env_is_fresh(py, "PYTHONHASHSEED=0"), "PYTHON* is fresh");
	ok(lang_env_is_fresh(py, "LC_ALL=C"), "LC_* is fresh");
	ok(lang_env_is_fresh(py, "LANG=C"), "LANG is fresh");
	ok(lang_env_is_fresh(py, "TZ=UTC"), "TZ is fresh");
	ok(!lang_env_is_fresh(py, "LANGX=C"), "LANGX is not LANG");
	ok(!lang_env_is_fresh(py, "LAN=C"), "LAN is not LANG");
	ok(!lang_env_is_fresh(py, "A=PYTHONX"), "a value is no name");
	ok(!lang_env_is_fresh(py, "=x"), "nothing is no name");
	ok(!lang_env_is_fresh(js, "LANG=C"), "bash is always started afresh");
	ok(!lang_env_is_fresh(NULL, "LANG=C"), "no language asks for nothing");
}

int main(void)
{
	test_files();
	test_texts();
	test_aliases();
	test_env();
	return done_testing();
}
