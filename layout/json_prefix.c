/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a text byte by byte against JSON's grammar, by a state machine. `token` is the
 * state within a token, `expect` the one between tokens, and a bit per level says object
 * or list.
 *
 * take() selects the function for a token. The whole state lies in the caller's struct,
 * with no pointer in it, so it can be copied. Depth is bounded by the struct's bits.
 */
#include "json_prefix.h"

#include <string.h>

#include "layout/base/num.h"
#include "layout/base/utf8.h"

enum token {
	BETWEEN, /* between two tokens */
	STRING,
	ESCAPE, /* the last byte was a backslash */
	HEX, /* step: digits read */
	PAIR, /* step: bytes of the \u that must follow a high surrogate */
	NUMBER,  /* step: enum number */
	WORD, /* step: word << 8 | letters read */
	MARK, /* step: bytes of the byte order mark read */
};

enum number { MINUS, ZERO, DIGITS, DOT, FRACTION, EXP, EXP_SIGN, EXP_DIGITS };

static const char *const words[] = { "true", "false", "null" };
static const char mark[] = "\xef\xbb\xbf";

bool json_prefix_in_object(const struct json_prefix *p)
{
	unsigned level = p->depth - 1;

	return p->depth && p->in_object[level / 64] >> level % 64 & 1;
}

bool json_prefix_in_string(const struct json_prefix *p)
{
	return p->token >= STRING && p->token <= PAIR;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A value has ended. */
static void value_end(struct json_prefix *p)
{
	p->token = BETWEEN;
	p->expect = p->depth ? JSON_COMMA_OR_END : JSON_NOTHING;
}

/* --- between tokens ----------------------------------------------------------- */

static bool open_level(struct json_prefix *p, bool object)
{
	uint64_t bit = 1ull << p->depth % 64, *word;

	if (p->depth >= MIN(p->max_depth, JSON_PREFIX_DEPTH))
		return false;
	word = &p->in_object[p->depth / 64];
	*word = object ? *word | bit : *word & ~bit;
	p->depth++;
	p->expect = object ? JSON_KEY_OR_END : JSON_VALUE_OR_END;
	return true;
}

static bool close_level(struct json_prefix *p, bool object)
{
	bool may = p->expect == JSON_COMMA_OR_END ||
		   p->expect == (object ? JSON_KEY_OR_END : JSON_VALUE_OR_END);

	if (!may || !p->depth || json_prefix_in_object(p) != object)
		return false;
	p->depth--;
	value_end(p);
	return true;
}

static bool comma(struct json_prefix *p)
{
	if (p->expect != JSON_COMMA_OR_END)
		return false;
	p->expect = json_prefix_in_object(p) ? JSON_KEY : JSON_VALUE;
	return true;
}

static bool begin(struct json_prefix *p, enum token token, unsigned step)
{
	p->token = token;
	p->step = step;
	return true;
}

static bool begin_string(struct json_prefix *p)
{
	p->is_key = p->expect == JSON_KEY || p->expect == JSON_KEY_OR_END;
	if (!p->is_key && p->expect != JSON_VALUE &&
	    p->expect != JSON_VALUE_OR_END)
		return false;
	return begin(p, STRING, 0);
}

static bool begin_value(struct json_prefix *p, char c)
{
	if (p->expect != JSON_VALUE && p->expect != JSON_VALUE_OR_END)
		return false;
	if (c == '{' || c == '[')
		return open_level(p, c == '{');
	if (c == '-' || is_digit(c))
		return begin(p, NUMBER,
			     c == '-' ? MINUS : c == '0' ? ZERO : DIGITS);
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (c == words[i][0])
			return begin(p, WORD, i << 8 | 1);
	return false;
}

static bool between(struct json_prefix *p, char c)
{
	if (is_blank(c))
		return true;
	if (p->object && !p->depth && p->expect == JSON_VALUE && c != '{')
		return false;
	switch (c) {
	case '}':
	case ']':
		return close_level(p, c == '}');
	case ',':
		return comma(p);
	case ':':
		if (p->expect != JSON_COLON)
			return false;
		p->expect = JSON_VALUE;
		return true;
	case '"':
		return begin_string(p);
	default:
		return begin_value(p, c);
	}
}

/* --- inside a token ----------------------------------------------------- */

/* Checks a character of several bytes, which may come one by one. */
static bool in_part(struct json_prefix *p, char c)
{
	int n;

	p->part[p->part_len++] = (unsigned char)c;
	n = utf8_step((const char *)p->part, p->part_len);
	if (n == UTF8_SHORT && p->part_len < sizeof(p->part))
		return true;
	p->part_len = 0;
	return n > 0;
}

static bool in_string(struct json_prefix *p, char c)
{
	if (p->part_len || (unsigned char)c >= 0x80)
		return in_part(p, c);
	if (c == '\\')
		return begin(p, ESCAPE, 0);
	if (c == '"' && p->is_key) {
		p->token = BETWEEN;
		p->expect = JSON_COLON;
	} else if (c == '"') {
		value_end(p);
	}
	return (unsigned char)c >= 0x20;
}

static bool in_escape(struct json_prefix *p, char c)
{
	if (c == 'u') {
		p->code = 0;
		return begin(p, HEX, 0);
	}
	p->token = STRING;
	return c && strchr("\"\\/bfnrt", c);
}

static int hex_value(char c)
{
	return is_digit(c)	      ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Returns whether the escape so far can be valid: surrogates must come in
 * pairs. The last digits do not matter. */
static bool is_possible(const struct json_prefix *p)
{
	unsigned known = p->code << 4 * (4 - p->step);
	unsigned last = known | ((1u << 4 * (4 - p->step)) - 1);

	if (p->high)
		return last >= 0xdc00 && known <= 0xdfff;
	return known < 0xdc00 || last > 0xdfff;
}

static bool in_hex(struct json_prefix *p, char c)
{
	int value = hex_value(c);

	if (value < 0)
		return false;
	p->code = p->code << 4 | (unsigned)value;
	p->step++;
	if (!is_possible(p))
		return false;
	if (p->step < 4)
		return true;
	p->high = !p->high && p->code >= 0xd800 && p->code <= 0xdbff;
	return begin(p, p->high ? PAIR : STRING, 0);
}

static bool in_pair(struct json_prefix *p, char c)
{
	if (c != "\\u"[p->step])
		return false;
	if (p->step++ == 0)
		return true;
	p->code = 0;
	return begin(p, HEX, 0);
}

/*
 * Returns the next step of a number; -1: the character does not belong to it.
 */
static int number_step(unsigned step, char c)
{
	bool e = c == 'e' || c == 'E';

	switch ((enum number)step) {
	case MINUS:
		return c == '0' ? ZERO : is_digit(c) ? DIGITS : -1;
	case DIGITS:
		if (is_digit(c))
			return DIGITS;
		return c == '.' ? DOT : e ? EXP : -1;
	case ZERO:
		return c == '.' ? DOT : e ? EXP : -1;
	case DOT:
		return is_digit(c) ? FRACTION : -1;
	case FRACTION:
		return is_digit(c) ? FRACTION : e ? EXP : -1;
	case EXP:
		if (c == '+' || c == '-')
			return EXP_SIGN;
		return is_digit(c) ? EXP_DIGITS : -1;
	case EXP_SIGN:
	case EXP_DIGITS:
		return is_digit(c) ? EXP_DIGITS : -1;
	}
	return -1;
}

static bool may_end(unsigned step)
{
	return step == ZERO || step == DIGITS || step == FRACTION ||
	       step == EXP_DIGITS;
}

static bool in_number(struct json_prefix *p, char c)
{
	int next = number_step(p->step, c);

	if (next >= 0)
		return begin(p, NUMBER, (unsigned)next);
	if (!may_end(p->step))
		return false;
	value_end(p);
	return between(p, c);
}

static bool in_word(struct json_prefix *p, char c)
{
	const char *word = words[p->step >> 8];
	unsigned letters = p->step & 0xff;

	if (c != word[letters])
		return false;
	p->step++;
	if (!word[letters + 1])
		value_end(p);
	return true;
}

static bool in_mark(struct json_prefix *p, char c)
{
	if (c != mark[p->step])
		return false;
	if (++p->step == sizeof(mark) - 1)
		p->token = BETWEEN;
	return true;
}

static bool take(struct json_prefix *p, char c)
{
	if (p->bom && !p->at && c == mark[0])
		return begin(p, MARK, 1);
	switch ((enum token)p->token) {
	case BETWEEN:
		return between(p, c);
	case STRING:
		return in_string(p, c);
	case ESCAPE:
		return in_escape(p, c);
	case HEX:
		return in_hex(p, c);
	case PAIR:
		return in_pair(p, c);
	case NUMBER:
		return in_number(p, c);
	case WORD:
		return in_word(p, c);
	case MARK:
		return in_mark(p, c);
	}
	return false;
}

/* Returns whether the text is complete. A number at the root is, though more
 * digits may follow. */
static bool is_whole(const struct json_prefix *p)
{
	return p->token == BETWEEN ? p->expect == JSON_NOTHING
				   : p->token == NUMBER && !p->depth &&
					     may_end(p->step);
}

enum json_prefix_state json_prefix_feed(struct json_prefix *p, const char *data,
					size_t len)
{
	for (size_t i = 0; i < len && p->state != JSON_WRONG; i++) {
		if (take(p, data[i]))
			p->at++;
		else
			p->state = JSON_WRONG;
	}
	if (p->state != JSON_WRONG)
		p->state = is_whole(p) ? JSON_WHOLE : JSON_OPEN;
	return p->state;
}
