/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that the JSON library leaves to its caller: a lower depth limit (it
 * allows 2,048 levels of recursion), the position of a bad byte, and numbers of
 * any size in the kept member. One pass over the bytes, without recursion, does
 * all of it; the library checks the grammar. Only for a text that it refuses,
 * json_prefix.h finds the position, to tell "too early" from "wrong". Pure.
 */
#include "json.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/base/utf8.h"
#include "json_mistake.h"
#include "limits.h"

struct scan {
	const char *data;
	size_t len;
	unsigned depth, max_depth;
	/* offset + 1 of the bracket that is too deep; 0: none */
	size_t too_deep;
	uint64_t parts; /* values that the library would allocate */
	size_t string_start; /* where the last string begins, behind its quote */
	size_t string_len;
	struct json_raw *raw; /* NULL: no member is kept */
	bool in_raw;
	/* a copy of the bytes without raw's numbers, and without characters
	 * that the library refuses in strings */
	char *numberless;
};

static size_t digits(const char *p, size_t len)
{
	size_t n = 0;

	while (n < len && p[n] >= '0' && p[n] <= '9')
		n++;
	return n;
}

/* Returns the length of the number at p; 0: it is none. */
static size_t number_len(const char *p, size_t len)
{
	size_t at = 0, n;

	if (at < len && p[at] == '-')
		at++;
	n = digits(p + at, len - at);
	if (!n || (p[at] == '0' && n > 1))
		return 0;
	at += n;
	if (at < len && p[at] == '.') {
		n = digits(p + at + 1, len - at - 1);
		if (!n)
			return 0;
		at += 1 + n;
	}
	if (at < len && (p[at] == 'e' || p[at] == 'E')) {
		at++;
		if (at < len && (p[at] == '+' || p[at] == '-'))
			at++;
		n = digits(p + at, len - at);
		if (!n)
			return 0;
		at += n;
	}
	return at;
}

/*
 * Passes over the escape at `at`. The library refuses \u0000 in a key, which JSON allows
 * and the kept member may have. So in that member the copy gets a code that is no
 * character, and no two keys become equal. Return: bytes to pass.
 */
static size_t pass_escape(struct scan *s, size_t at)
{
	static const char nul[] = "\\u0000";

	if (!s->in_raw || s->len - at < sizeof(nul) - 1 ||
	    memcmp(s->data + at, nul, sizeof(nul) - 1) != 0)
		return 2;
	memcpy(s->numberless + at, "\\ufdd0", sizeof(nul) - 1);
	return sizeof(nul) - 1;
}

/* Returns the offset behind the closing quote of the string whose opening quote
 * is at `at`. */
static size_t scan_string(struct scan *s, size_t at)
{
	size_t start = ++at;

	while (at < s->len && s->data[at] != '"')
		at += s->data[at] == '\\' ? pass_escape(s, at) : 1;
	s->string_start = start;
	s->string_len = MIN(at, s->len) - start;
	return MIN(at + 1, s->len);
}

static bool last_string_is(const struct scan *s, const char *key)
{
	return s->string_len == strlen(key) &&
	       !memcmp(s->data + s->string_start, key, s->string_len);
}

/* Ends the kept member, at a comma or a closing bracket at the root's own
 * level. */
static void raw_end(struct scan *s, size_t at)
{
	if (s->in_raw)
		s->raw->len = (size_t)(s->data + at - s->raw->text);
	s->in_raw = false;
}

/* Weight of a container in `parts`, against 1 for a number: what the library
 * allocates. */
#define CONTAINER_PARTS 4

static void scan_mark(struct scan *s, size_t at)
{
	switch (s->data[at]) {
	case '{':
	case '[':
		s->parts += CONTAINER_PARTS;
		if (++s->depth > s->max_depth && !s->too_deep)
			s->too_deep = at + 1;
		break;
	case '}':
	case ']':
		if (s->depth == 1)
			raw_end(s, at);
		if (s->depth)
			s->depth--;
		break;
	case ',':
		s->parts++;
		if (s->depth == 1)
			raw_end(s, at);
		break;
	case ':':
		if (s->depth == 1 && s->raw && !s->raw->text &&
		    last_string_is(s, s->raw->key)) {
			s->in_raw = true;
			s->raw->text = s->data + at + 1;
		}
		break;
	}
}

/* Returns whether a number may begin here: not inside another word ("1.-1"). */
static bool begins_word(const struct scan *s, size_t at)
{
	return at == 0 || s->data[at - 1] == '\0' ||
	       !strchr("+-.0123456789eE", s->data[at - 1]);
}

static void scan_all(struct scan *s)
{
	for (size_t at = 0; at < s->len && !s->too_deep &&
			    s->parts <= LIMIT_VALUE_PARTS;) {
		char c = s->data[at];
		size_t n = 0;

		if (c == '"') {
			at = scan_string(s, at);
			continue;
		}
		if (s->in_raw && begins_word(s, at) &&
		    (c == '-' || (c >= '0' && c <= '9')))
			n = number_len(s->data + at, s->len - at);
		if (n) {
			memset(s->numberless + at, ' ', n);
			s->numberless[at] = '0';
			at += n;
			continue;
		}
		scan_mark(s, at++);
	}
}

static size_t back_over(const char *data, size_t at, const char *set)
{
	while (at && data[at - 1] && strchr(set, data[at - 1]))
		at--;
	return at;
}

/* Finds the key, as written, of the member whose value begins at `at`. Return:
 * its length; 0: it is no member. */
static size_t key_before(const char *data, size_t at, const char **ret)
{
	size_t end = back_over(data, at, " \t\r\n"), begin;

	if (!end || data[end - 1] != ':')
		return 0;
	end = back_over(data, end - 1, " \t\r\n");
	begin = end ? end - 1 : 0;
	while (begin && data[begin - 1] != '"')
		begin--;
	*ret = data + begin;
	return begin ? end - 1 - begin : 0;
}

/* Describes a number that no variable can hold; the library stops behind it. */
static int describe_number(const struct scan *s, size_t end, struct err *err)
{
	size_t at = back_over(s->data, MIN(end, s->len), "0123456789+-.eE");
	size_t len = MIN(end, s->len) - at;
	const char *number = s->data + at, *key = "";
	size_t key_len = key_before(s->data, at, &key);
	const char *most = number_len(number, len) == len &&
			   !memchr(number, '.', len) &&
			   !memchr(number, 'e', len) &&
			   !memchr(number, 'E', len)
				   ? "an integer is at most 9223372036854775807"
				   : "a number is at most 1.7e308";

	return err_set(err, -EINVAL, "%s%.*s%s%.*s; %s", key_len ? "\"" : "",
		       (int)MIN(key_len, 80), key, key_len ? "\" is " : "",
		       (int)MIN(len, 80), number, most);
}

/* Return: 0: the grammar is right. */
static int check_grammar(const char *data, size_t len, struct err *err)
{
	struct json_prefix p = { .max_depth = JSON_PREFIX_DEPTH };

	switch (json_prefix_feed(&p, data, len)) {
	case JSON_OPEN:
		return err_set(err, -ENODATA,
			       "the JSON text ends too early, at byte %zu", len);
	case JSON_WRONG:
		return json_mistake(data, len, &p, err);
	default:
		return 0;
	}
}

/* Describes why the library has refused the text: mistakes of grammar in our
 * own words, others in the library's. */
static int describe(const struct scan *s, const json_error_t *e,
		    struct err *err)
{
	int r;

	if (json_error_code(e) == json_error_out_of_memory)
		return err_set(err, -ENOMEM, "out of memory");
	if (json_error_code(e) == json_error_numeric_overflow)
		return describe_number(s, (size_t)e->position, err);
	r = check_grammar(s->data, s->len, err);
	return r < 0 ? r
		     : err_set(err, -EINVAL, "line %d, column %d: %s", e->line,
			       e->column, e->text);
}

static int check_text(const char *data, size_t len, struct err *err)
{
	const char *nul = memchr(data, 0, len);
	size_t good = utf8_span(data, len);
	int r = json_encoding(data, len, err);

	if (r < 0)
		return r;
	if (nul && (size_t)(nul - data) < good)
		return err_set(err, -EINVAL,
			       "byte %zu is NUL, which no JSON text has",
			       (size_t)(nul - data));
	if (good == len)
		return 0;
	if (utf8_step(data + good, len - good) == UTF8_SHORT)
		return check_grammar(data, len, err);
	return err_set(err, -EINVAL,
		       "byte %zu (0x%02x) is not valid UTF-8", good,
		       (unsigned char)data[good]);
}

static bool is_blank(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!data[i] || !strchr(" \t\r\n", data[i]))
			return false;
	return true;
}

int json_read(const char *data, size_t len, unsigned max_depth,
	      struct json_raw *raw, json_t **ret_json, struct err *err)
{
	struct scan s = { .data = data, .len = len, .max_depth = max_depth,
			  .raw = raw };
	auto_free char *copy = NULL;
	json_error_t e;
	json_t *json;
	int r;

	if (raw)
		*raw = (struct json_raw){ .key = raw->key };
	if (is_blank(data, len))
		return err_set(err, -ENODATA, "it is empty; {} is the least");
	r = check_text(data, len, err);
	if (r < 0)
		return r;
	copy = malloc(len);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	s.numberless = memcpy(copy, data, len);
	scan_all(&s);
	if (s.too_deep)
		return err_set(err, -EINVAL,
			       "byte %zu: nested deeper than %u levels",
			       s.too_deep - 1, max_depth);
	if (s.parts > LIMIT_VALUE_PARTS)
		return err_set(err, -EINVAL,
			       "it has more than %u numbers and strings; a list "
			       "or an object counts as %u of them",
			       LIMIT_VALUE_PARTS, CONTAINER_PARTS);
	json = json_loadb(copy, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL |
			  JSON_DECODE_ANY, &e);
	if (!json)
		return describe(&s, &e, err);
	*ret_json = json;
	return 0;
}

int json_compact(struct buf *out, const char *text, size_t len)
{
	size_t from = 0;
	bool in_string = false;

	for (size_t at = 0; at < len; at++) {
		if (in_string && text[at] == '\\') {
			at++;
		} else if (text[at] == '"') {
			in_string = !in_string;
		} else if (!in_string && strchr(" \t\r\n", text[at])) {
			buf_add(out, text + from, at - from);
			from = at + 1;
		}
	}
	return buf_add(out, text + from, len - from);
}

void json_copy_text(const json_t *from, const char *name, char *ret, size_t size)
{
	const char *text = json_string_value(json_object_get(from, name));

	snprintf(ret, size, "%s", text ? text : "");
}

int64_t json_number(const json_t *from, const char *name, int64_t absent)
{
	const json_t *n = json_object_get(from, name);

	return json_is_integer(n) ? json_integer_value(n) : absent;
}

int json_quote(struct buf *out, const char *text, size_t len)
{
	buf_str(out, "\"");
	for (size_t at = 0; at < len;) {
		int step = utf8_step(text + at, len - at);

		if (step <= 0) {
			buf_str(out, "\\ufffd");
			step = 1;
		} else if (text[at] == '\n') {
			buf_str(out, "\\n");
		} else if (utf8_is_control(text + at)) {
			/* for C1 the second of its two bytes is the code */
			buf_fmt(out, "\\u%04x",
				(unsigned char)text[at + (size_t)step - 1]);
		} else if (text[at] == '"' || text[at] == '\\') {
			buf_fmt(out, "\\%c", text[at]);
		} else {
			buf_add(out, text + at, (size_t)step);
		}
		at += (size_t)step;
	}
	return buf_str(out, "\"");
}

const char *json_shown(const char *text, size_t len, size_t most, char *room)
{
	auto_buf struct buf quoted = { .cap = 0 };
	size_t cut = 0;

	json_quote(&quoted, text, MIN(len, (size_t)4096));
	if (quoted.failed || quoted.len < most) {
		snprintf(room, most, "%s", quoted.failed ? "?" : quoted.data);
		return room;
	}
	while (cut < most - 4) /* cut only between characters */
		cut += (size_t)utf8_step(quoted.data + cut, quoted.len - cut);
	snprintf(room, most + 4, "%.*s...", (int)cut, quoted.data);
	return room;
}
