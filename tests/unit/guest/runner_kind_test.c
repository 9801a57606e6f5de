/* SPDX-License-Identifier: Apache-2.0 */
/* Each runner has a row, and each language's row names the same interpreter and file. */
#include "guest/run/runner_kind.h"

#include <string.h>

#include "guest/os/sys.h"
#include "layout/lang.h"
#include "tests/unit/tap.h"

#define ROW(id_, runner_, name_, endings, ...)                                \
	{WIRE_RUN_##runner_, {.name = name_, __VA_ARGS__}},
static const struct {
	enum wire_runner runner;
	struct lang lang;
} languages[] = {LANG_TABLE(ROW, LANG_NO_ENDING)};

static void test_rows(void)
{
	for (int i = 0; i < WIRE_RUN_MAX; i++) {
		const struct runner_kind *k = &runner_kinds[i];

		ok(k->name && k->directory && k->step_word,
		   "runner %d has a row: %s", i, k->name ? k->name : "none");
		ok(k->nothing.file && k->nothing.text && k->nothing.argv[0],
		   "and a program that heats it");
		ok(!k->argv[0] == (i == WIRE_RUN_EXEC),
		   "EXEC alone has no command of its own");
		ok(!k->session_argv[0] || k->session == (enum wire_runner)i ||
			   k->session == WIRE_RUN_EXEC,
		   "itself or EXEC becomes its session");
	}
}

static void test_languages(void)
{
	for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
		const struct runner_kind *k = &runner_kinds[languages[i].runner];
		const struct lang *lang = &languages[i].lang;

		if (languages[i].runner == WIRE_RUN_EXEC)
			continue;
		is_str(k->argv[0], lang->interpreter, "%s starts its interpreter",
		       lang->name);
		is_str(k->nothing.file, lang->code, "on a file of its name");
		is_str(k->nothing.argv[0] + strlen(HOME "/"), lang->code,
		       "in the home");
	}
}

int main(void)
{
	test_rows();
	test_languages();
	return done_testing();
}
