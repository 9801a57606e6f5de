/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the names that are there is nearest to one that is wanted. */
#include "layout/nearest.h"

#include "tests/unit/tap.h"

static void test_edits(void)
{
	static const struct {
		const char *a, *b;
		unsigned most, edits;
	} rows[] = {
		{ "config.json", "config.json", 2, 0 },
		{ "Config.JSON", "config.json", 2, 0 },
		{ "config.jsn", "config.json", 2, 1 },
		{ "cofnig.json", "config.json", 2, 1 },
		{ "confg.jsn", "config.json", 2, 2 },
		{ "conf.json", "config.json", 2, 2 },
		{ "package.json", "config.json", 2, 3 },
		{ "", "abc", 5, 3 },
		{ "abc", "", 5, 3 },
		{ "ab", "ba", 5, 1 },
		{ "kitten", "sitting", 9, 3 },
	};
	char a[201], b[202];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_int(name_edits(rows[i].a, rows[i].b, rows[i].most),
		       rows[i].edits, "from \"%s\" to \"%s\"", rows[i].a,
		       rows[i].b);
	memset(a, 'x', 200);
	memset(b, 'x', 201);
	a[200] = b[201] = '\0';
	is_int(name_edits(a, a, 2), 0, "a long name is the same as itself");
	is_int(name_edits(a, b, 2), 3, "other long names are not compared");
}

/* Each is nearer than the next. */
static void test_order(const char *what, unsigned (*near)(const char *),
		       const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ok(near(names[i]) > (i + 1 < count ? near(names[i + 1])
						   : NEAR_NOT),
		   "%s: \"%s\" is the next one", what, names[i]);
}

static void test_programs(void)
{
	static const char *const names[] = { "code.PY", "cod.py", "code.py.txt",
					     "main.py", "util.py", "main.go" };
	static const char *const not[] = { "code.py", "code", "data.csv",
					   ".main.py", "py", "README", "" };

	test_order("program", near_to_program, names,
		   sizeof(names) / sizeof(names[0]));
	is_int(near_to_program("Code.Js"), near_to_program("code.PY"),
	       "the case of any letter");
	for (size_t i = 0; i < sizeof(not) / sizeof(not[0]); i++)
		is_int(near_to_program(not[i]), NEAR_NOT,
		       "\"%s\" is not meant as the program", not[i]);
}

static void test_configs(void)
{
	static const char *const names[] = { "Config.json", "config.jsn",
					     "config.yaml", "config.xyz" };
	static const char *const not[] = { "config.json", "package.json",
					   "data.json", "" };

	test_order("config", near_to_config, names,
		   sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < sizeof(not) / sizeof(not[0]); i++)
		is_int(near_to_config(not[i]), NEAR_NOT,
		       "\"%s\" is not meant as config.json", not[i]);
}

static void test_names(void)
{
	ok(near_to_name("Data.csv", "data.csv") > near_to_name("dta.csv", "data.csv"),
	   "another case is nearer than another letter");
	ok(near_to_name("dta.csv", "data.csv") > near_to_name("data.tsv.gz",
							"data.csv"),
	   "another letter is nearer than another ending");
	ok(near_to_name("data", "data.csv") > NEAR_NOT, "so is no ending at all");
	is_int(near_to_name("other.txt", "data.csv"), NEAR_NOT,
	       "a name that has nothing in common is not near");
	is_int(near_to_name("b", "a"), NEAR_NOT, "nor is one letter for another");
}

int main(void)
{
	test_edits();
	test_programs();
	test_configs();
	test_names();
	return done_testing();
}
