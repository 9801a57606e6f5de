/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the beginning of a text can still become JSON, and what is said of it
 * if it cannot. */
#include "layout/json_prefix.h"

#include <errno.h>

#include "layout/json_mistake.h"
#include "tests/unit/tap.h"

#define W JSON_WRONG
#define O JSON_OPEN
#define D JSON_WHOLE

static const struct {
	const char *text;
	enum json_prefix_state state;
	unsigned at; /* if it is wrong */
} beginnings[] = {
	{ "", O, 0 },		  { " \t\r\n", O, 0 },
	{ "{", O, 0 },		  { "{}", D, 0 },
	{ "{} \n", D, 0 },	  { "{}x", W, 2 },
	{ "{}{", W, 2 },	  { "{\"", O, 0 },
	{ "{\"a\"", O, 0 },	  { "{\"a\":", O, 0 },
	{ "{\"a\": 1", O, 0 },	  { "{\"a\": 1}", D, 0 },
	{ "{\"a\": 1,", O, 0 },	  { "{\"a\": 1,}", W, 8 },
	{ "{,", W, 1 },		  { "{\"a\" 1", W, 5 },
	{ "{\"a\": }", W, 6 },	  { "{a", W, 1 },
	{ "{'", W, 1 },		  { "[1, 2", O, 0 },
	{ "[1, 2]", D, 0 },	  { "[1 2", W, 3 },
	{ "[1,]", W, 3 },	  { "[}", W, 1 },
	{ "{\"a\": [1}", W, 8 },  { "]", W, 0 },
	{ "1", D, 0 },		  { "12", D, 0 },
	{ "-", O, 0 },		  { "-1", D, 0 },
	{ "01", W, 1 },		  { "1.", O, 0 },
	{ "1.x", W, 2 },	  { "1.5", D, 0 },
	{ "1e", O, 0 },		  { "1e+", O, 0 },
	{ "1e+5", D, 0 },	  { "1e5.", W, 3 },
	{ "+1", W, 0 },		  { ".5", W, 0 },
	{ "t", O, 0 },		  { "tru", O, 0 },
	{ "true", D, 0 },	  { "truex", W, 4 },
	{ "trve", W, 2 },	  { "nul", O, 0 },
	{ "False", W, 0 },	  { "\"\\", O, 0 },
	{ "\"\\n", O, 0 },	  { "\"\\x", W, 2 },
	{ "\"\\u12", O, 0 },	  { "\"\\u12g", W, 5 },
	{ "\"\\ud83d", O, 0 },	  { "\"\\ud83d\\", O, 0 },
	{ "\"\\ud83dx", W, 7 },	  { "\"\\ud83d\\n", W, 8 },
	{ "\"\\ud83d\\ude00\"", D, 0 },
	{ "\"\\ud83d\\u0041", W, 9 },
	{ "\"\\udc", W, 4 },	  { "\"\n", W, 1 },
	{ "\"\xc3\xbc\"", D, 0 }, { "\"\xc3", O, 0 },
	{ "\"\xc3\"", W, 2 },	  { "\"\xff", W, 1 },
	{ "\xef\xbb\xbf{}", D, 0 }, { "\xef\xbb", O, 0 },
	{ "{}\xef\xbb\xbf", W, 2 }, { "[[[[", O, 0 },
	{ "[[[[[", W, 4 },
};

static struct json_prefix start(void)
{
	return (struct json_prefix){ .max_depth = 4, .bom = true };
}

static void test_beginnings(void)
{
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
		const char *text = beginnings[i].text;
		struct json_prefix p = start(), q = start();

		is_int(json_prefix_feed(&p, text, strlen(text)),
		       beginnings[i].state, "\"%s\" is of its state", text);
		if (beginnings[i].state == W)
			is_int((long long)p.at, beginnings[i].at,
			       "and wrong at its place");
		for (const char *c = text; *c; c++)
			json_prefix_feed(&q, c, 1);
		ok(p.state == q.state && p.at == q.at,
		   "and so it is byte for byte");
	}
}

static void test_objects(void)
{
	static const char *const others[] = { "[", "\"", "1", "t", " -", "x" };
	struct json_prefix p = { .max_depth = 4, .object = true };

	is_int(json_prefix_feed(&p, " {\"a\": [1, \"x\"]} ", 17), JSON_WHOLE,
	       "an object is one, whatever is in it");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct json_prefix q = { .max_depth = 4, .object = true };

		is_int(json_prefix_feed(&q, others[i], strlen(others[i])),
		       JSON_WRONG, "\"%s\" begins none", others[i]);
	}
}

static const struct {
	const char *text, *says;
} mistakes[] = {
	{ "{\"a\": 1,}", "line 1, column 9: the comma before } is one too many" },
	{ "{\n  \"a\": [1,\n]}",
	  "line 3, column 1: the comma before ] is one too many" },
	{ "{\"a\": 1,, ", "line 1, column 9: this comma is one too many" },
	{ "{'a': 1}", "line 1, column 2: keys and strings stand in double "
		      "quotes (\"), not in '" },
	{ "{\"a\": 'x'}", "line 1, column 7: keys and strings stand in double "
			  "quotes (\"), not in '" },
	{ "{\xe2\x80\x9c" "a", "line 1, column 2: keys and strings stand in "
			     "double quotes (\"), not in \xe2\x80\x9c" },
	{ "{ // x\n}", "line 1, column 3: JSON has no comments; this one is to "
		       "go" },
	{ "/* x */ {}", "line 1, column 1: JSON has no comments; this one is to "
			"go" },
	{ "{\"a\": 1 # x\n}", "line 1, column 9: JSON has no comments; this one "
			      "is to go" },
	{ "{\"a\": True}", "line 1, column 7: True is Python's; JSON has true" },
	{ "{\"a\": None}", "line 1, column 7: None is Python's; JSON has null" },
	{ "{\"a\": NaN}", "line 1, column 7: NaN is no number of JSON" },
	{ "{\"a\": -Infinity}",
	  "line 1, column 7: Infinity is no number of JSON" },
	{ "{\"a\": undefined}",
	  "line 1, column 7: undefined is JavaScript's; JSON has null" },
	{ "{\"a\": nope}",
	  "line 1, column 7: nope is to stand in double quotes" },
	{ "{\"\xc3\xbc\": python}",
	  "line 1, column 7: python is to stand in double quotes" },
	{ "{timeout: 3}", "line 1, column 2: the key timeout is to stand in "
			  "double quotes" },
	{ "{\"a\": 1 \"b\": 2}",
	  "line 1, column 9: a comma is missing before \"" },
	{ "[1 2]", "line 1, column 4: a comma is missing before 2" },
	{ "{\"a\": 1; \"b\"", "line 1, column 8: a comma or } is to stand here, "
			    "not ;" },
	{ "{\"a\" = 1}", "line 1, column 6: a colon is to stand between a key "
			 "and its value, not =" },
	{ "{\"a\": 1}\n{\"b\"", "line 2, column 1: a second object begins here; "
			      "there is to be one" },
	{ "{}}", "line 1, column 3: this } is one too many" },
	{ "{} x", "line 1, column 4: x stands behind the end; nothing may" },
	{ "{\"a\": [1}", "line 1, column 9: } stands where ] closes" },
	{ "{\"a\": \"x\n\"}", "line 1, column 9: the line ends inside a string; "
			    "its \" is missing, or \\n is to be written for "
			    "the line's end" },
	{ "{\"a\": \"x\t", "line 1, column 9: a TAB stands inside a string; it "
			 "is written \\t" },
	{ "{\"a\": \"C:\\x", "line 1, column 10: \\x is none of JSON's escapes; "
			    "a backslash itself is written \\\\" },
	{ "{\"a\": 012}", "line 1, column 7: 012 is no number of JSON; a number "
			  "does not begin with a 0 that says nothing" },
	{ "{\"a\": +1}", "line 1, column 7: +1 is no number of JSON; a number "
			 "has no + before it" },
	{ "{\"a\": .5}", "line 1, column 7: .5 is no number of JSON; a number "
			 "has a digit before its point" },
	{ "{\"a\": 1.}", "line 1, column 7: 1. is no number of JSON; a number "
			 "has a digit behind its point" },
	{ "{\"a\": 0x10}", "line 1, column 7: 0x10 is no number of JSON; a "
			   "number is decimal, such as 30 or 0.5" },
	{ "{\"a\": 1_000}", "line 1, column 7: 1_000 is no number of JSON; a "
			    "number is decimal, such as 30 or 0.5" },
	{ "{}\xef\xbb\xbf", "line 1, column 3: a byte order mark stands here; it "
			    "may only be the first character of the file" },
	{ "timeout: 3", "line 1, column 1: timeout is no JSON, which begins "
			"with {" },
	{ "[1: 2]", "line 1, column 3: a colon stands in a list; keys are for "
		    "objects, {}" },
};

static void test_mistakes(void)
{
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		const char *text = mistakes[i].text;
		struct json_prefix p = { .max_depth = 32 };
		struct err err = { .code = 0 };

		json_prefix_feed(&p, text, strlen(text));
		is_int(p.state, JSON_WRONG, "\"%s\" is wrong", text);
		is_int(json_mistake(text, strlen(text), &p, &err), -EINVAL,
		       "which is an error");
		is_str(err.text, mistakes[i].says, "and has its sentence");
	}
}

static void test_encodings(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool utf16;
	} rows[] = {
		{ "\xff\xfe{\0}\0", 6, true },
		{ "\xfe\xff\0{\0}", 6, true },
		{ "{\0}\0", 4, true },
		{ "\0{\0}", 4, true },
		{ "{}\n\n", 4, false },
		{ "{}\0\0", 4, false },
		{ "{", 1, false },
		{ "\xef\xbb\xbf{}", 5, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err err = { .code = 0 };
		int r = json_encoding(rows[i].bytes, rows[i].len, &err);

		is_int(r, rows[i].utf16 ? -EINVAL : 0, "encoding %zu", i);
		ok(!rows[i].utf16 == !strstr(err.text, "UTF-16"),
		   "and says so");
	}
}

int main(void)
{
	test_beginnings();
	test_objects();
	test_mistakes();
	test_encodings();
	return done_testing();
}
