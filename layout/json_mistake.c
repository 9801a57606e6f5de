/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains why a text cannot become JSON. json_prefix.c gives the position and the
 * grammar's expectation there; a table maps each expectation to a function.
 *
 * The order of the checks matters: inside a string, then mistakes that are wrong
 * everywhere, then those of the position. `words` lists the usual words of other
 * languages. There is no state beyond the call.
 */
#include "json_mistake.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "layout/base/num.h"
#include "layout/base/utf8.h"

/* The position of the mistake, and the text there. */
struct place {
	const char *data;
	size_t len, at;
	const struct json_prefix *p;
	const char *word; /* letters and digits around the position */
	size_t begin; /* offset of that word */
	int word_len;     /* 0: there are none */
	char shown[8]; /* the character at the position */
	struct err *err;
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '-' ||
	       c == '+' || c == '.';
}

static void find_word(struct place *w)
{
	size_t end = w->at;

	w->begin = w->at;
	if (json_prefix_in_string(w->p))
		return;
	while (w->begin && is_word(w->data[w->begin - 1]))
		w->begin--;
	while (end < w->len && is_word(w->data[end]))
		end++;
	w->word = w->data + w->begin;
	w->word_len = (int)MIN(end - w->begin, (size_t)40);
}

static void find_shown(struct place *w)
{
	int n = utf8_step(w->data + w->at, w->len - w->at);

	if (n <= 0 || utf8_is_control(w->data + w->at))
		snprintf(w->shown, sizeof(w->shown), "0x%02x",
			 (unsigned char)w->data[w->at]);
	else
		snprintf(w->shown, sizeof(w->shown), "%.*s", n,
			 w->data + w->at);
}

/* Sets the sentence, which begins with line and character, from 1. */
static int __attribute__((format(printf, 3, 4)))
say(struct place *w, size_t at, const char *fmt, ...)
{
	unsigned line = 1, column = 1;
	char text[400];
	va_list ap;

	for (size_t i = 0; i < at; i++) {
		if (w->data[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)w->data[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(w->err, -EINVAL, "line %u, column %u: %s", line, column,
		       text);
}

static bool begins(const struct place *w, size_t at, const char *text)
{
	return w->len - at >= strlen(text) &&
	       !memcmp(w->data + at, text, strlen(text));
}

static bool word_is(const struct place *w, const char *text)
{
	return w->word_len == (int)strlen(text) &&
	       !memcmp(w->word, text, strlen(text));
}

/* --- in a string ---------------------------------------------------------------- */

static int in_string(struct place *w)
{
	char c = w->data[w->at];

	if (c == '\n' || c == '\r')
		return say(w, w->at, "the line ends inside a string; its \" is "
			   "missing, or \\n is to be written for the line's "
			   "end");
	if (c == '\t')
		return say(w, w->at, "a TAB stands inside a string; it is "
			   "written \\t");
	if ((unsigned char)c < 0x20)
		return say(w, w->at, "the control character 0x%02x stands "
			   "inside a string; it is written \\u%04x",
			   (unsigned char)c, (unsigned char)c);
	if (w->at && w->data[w->at - 1] == '\\')
		return say(w, w->at - 1, "\\%s is none of JSON's escapes; a "
			   "backslash itself is written \\\\", w->shown);
	if (w->p->high)
		return say(w, w->at, "half of a character stands before this; "
			   "its other half, \\udc00 to \\udfff, is missing");
	return say(w, w->at, "\\u is followed by four hexadecimal digits, and "
		   "a character over U+FFFF is a pair of them");
}

/* --- words and numbers ------------------------------------------------------------ */

static const struct {
	const char *word, *says;
} words[] = {
	{ "True", "True is Python's; JSON has true" },
	{ "False", "False is Python's; JSON has false" },
	{ "None", "None is Python's; JSON has null" },
	{ "TRUE", "TRUE is to be true" },
	{ "FALSE", "FALSE is to be false" },
	{ "NULL", "NULL is to be null" },
	{ "Null", "Null is to be null" },
	{ "nil", "nil is no word of JSON; it has null" },
	{ "undefined", "undefined is JavaScript's; JSON has null" },
	{ "NaN", "NaN is no number of JSON" },
	{ "nan", "nan is no number of JSON" },
	{ "Infinity", "Infinity is no number of JSON" },
	{ "+Infinity", "Infinity is no number of JSON" },
	{ "-Infinity", "Infinity is no number of JSON" },
	{ "inf", "inf is no number of JSON" },
	{ "-inf", "inf is no number of JSON" },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int bad_number(struct place *w)
{
	const char *n = w->word, *why = "a number is decimal, such as 30 or 0.5";
	int sign = n[0] == '-';

	if (n[0] == '+')
		why = "a number has no + before it";
	else if (n[sign] == '.')
		why = "a number has a digit before its point";
	else if (n[sign] == '0' && w->word_len > sign + 1 &&
		 is_digit(n[sign + 1]))
		why = "a number does not begin with a 0 that says nothing";
	else if (n[w->word_len - 1] == '.')
		why = "a number has a digit behind its point";
	return say(w, w->begin, "%.*s is no number of JSON; %s", w->word_len,
		   n, why);
}

static bool is_number(const struct place *w)
{
	char c = w->word[0], next = w->word_len > 1 ? w->word[1] : '\0';

	return is_digit(c) || ((c == '-' || c == '+' || c == '.') &&
			       (is_digit(next) || next == '.'));
}

static int bare_word(struct place *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (word_is(w, words[i].word))
			return say(w, w->begin, "%s", words[i].says);
	if (is_number(w))
		return bad_number(w);
	if (!w->p->depth)
		return say(w, w->begin, "%.*s is no JSON, which begins with {",
			   w->word_len, w->word);
	return say(w, w->begin, "%.*s is to stand in double quotes",
		   w->word_len, w->word);
}

/* --- marks -------------------------------------------------------------------------- */

static bool is_quote(const struct place *w)
{
	static const char *const quotes[] = { "'", "`", "\xe2\x80\x98",
					      "\xe2\x80\x99", "\xe2\x80\x9c",
					      "\xe2\x80\x9d", "\xe2\x80\x9e",
					      "\xc2\xab" };

	for (size_t i = 0; i < ARRAY_SIZE(quotes); i++)
		if (begins(w, w->at, quotes[i]))
			return true;
	return false;
}

/* Finds characters that JSON allows in no place outside a string. */
static int anywhere(struct place *w)
{
	char c = w->data[w->at];

	if (c == '#' || begins(w, w->at, "//") || begins(w, w->at, "/*"))
		return say(w, w->at, "JSON has no comments; this one is to go");
	if (is_quote(w))
		return say(w, w->at, "keys and strings stand in double quotes "
			   "(\"), not in %s", w->shown);
	if (begins(w, w->at, "\xef\xbb\xbf"))
		return say(w, w->at, "a byte order mark stands here; it may "
			   "only be the first character of the file");
	if (begins(w, w->at, "\xc2\xa0"))
		return say(w, w->at, "a no-break space stands here; blanks of "
			   "JSON are space, TAB and line ends");
	return 0;
}

static const char *closing(const struct place *w)
{
	return json_prefix_in_object(w->p) ? "}" : "]";
}

static int behind_root(struct place *w)
{
	char c = w->data[w->at];

	if (c == '{')
		return say(w, w->at, "a second object begins here; there is to "
			   "be one");
	if (c == '}' || c == ']')
		return say(w, w->at, "this %s is one too many", w->shown);
	return say(w, w->at, "%s stands behind the end; nothing may", w->shown);
}

static int behind_key(struct place *w)
{
	return say(w, w->at, "a colon is to stand between a key and its value, "
		   "not %s", w->shown);
}

static int behind_value(struct place *w)
{
	char c = w->data[w->at];
	bool object = json_prefix_in_object(w->p);

	if (is_word(c) && w->begin < w->at)
		return bare_word(w); /* 012, 1_000, trueish */
	if (c == '}' || c == ']')
		return say(w, w->at, "%s stands where %s closes", w->shown,
			   closing(w));
	if (c == '"' || c == '{' || c == '[' || is_word(c))
		return say(w, w->at, "a comma is missing before %s", w->shown);
	if (c == ':' && !object)
		return say(w, w->at, "a colon stands in a list; keys are for "
			   "objects, {}");
	return say(w, w->at, "a comma or %s is to stand here, not %s",
		   closing(w), w->shown);
}

static int in_place_of_key(struct place *w)
{
	char c = w->data[w->at];

	if (c == '}' && w->p->expect == JSON_KEY)
		return say(w, w->at, "the comma before } is one too many");
	if (c == ',')
		return say(w, w->at, "this comma is one too many");
	if (w->word_len)
		return say(w, w->begin, "the key %.*s is to stand in double "
			   "quotes", w->word_len, w->word);
	return say(w, w->at, "a key in double quotes is to stand here, not %s",
		   w->shown);
}

static int in_place_of_value(struct place *w)
{
	char c = w->data[w->at];

	if (w->word_len)
		return bare_word(w);
	if (c == ']' && w->p->depth && !json_prefix_in_object(w->p))
		return say(w, w->at, "the comma before ] is one too many");
	if (c == ',' && !json_prefix_in_object(w->p))
		return say(w, w->at, "this comma is one too many");
	return say(w, w->at, "a value is to stand here, not %s", w->shown);
}

static int (*const by_expectation[])(struct place *w) = {
	[JSON_VALUE] = in_place_of_value,
	[JSON_VALUE_OR_END] = in_place_of_value,
	[JSON_KEY] = in_place_of_key,
	[JSON_KEY_OR_END] = in_place_of_key,
	[JSON_COLON] = behind_key,
	[JSON_COMMA_OR_END] = behind_value,
	[JSON_NOTHING] = behind_root,
};

int json_mistake(const char *data, size_t len, const struct json_prefix *p,
		 struct err *err)
{
	struct place w = { .data = data, .len = len, .at = (size_t)p->at,
			   .p = p, .err = err };
	int r;

	if (w.at >= len)
		return err_set(err, -EINVAL, "it is no JSON");
	find_word(&w);
	find_shown(&w);
	if (json_prefix_in_string(p))
		return in_string(&w);
	r = anywhere(&w);
	return r < 0 ? r : by_expectation[p->expect](&w);
}

int json_encoding(const char *data, size_t len, struct err *err)
{
	bool marked = len >= 2 && (!memcmp(data, "\xff\xfe", 2) ||
				   !memcmp(data, "\xfe\xff", 2));
	bool every_second = len >= 4 && (!data[0] != !data[1]) &&
			    (!data[2] != !data[3]);

	if (!marked && !every_second)
		return 0;
	return err_set(err, -EINVAL,
		       "it is text in UTF-16 (Windows calls it Unicode); it is "
		       "to be saved as UTF-8");
}
