/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the head of an HTTP request in place and a chunked body step by step. It has
 * three parts: the first line, headers, chunks.
 *
 * Every limit and every ambiguous form ends in refuse(), which sets the status and a
 * sentence. struct head points into the caller's buffer. struct chunks holds the
 * position in a body, so that the body may arrive in pieces.
 */
#include "head.h"

#include <string.h>
#include <strings.h>

#include "layout/base/num.h"

static long refuse(struct head *h, unsigned status, const char *why)
{
	h->status = status;
	h->why = why;
	return -1;
}

static bool is_token(const char *text, size_t len)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (!(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z') &&
		    !(c && strchr(others, c)))
			return false;
	}
	return len > 0;
}

/* --- the first line ------------------------------------------------------------- */

static long take_version(struct head *h, const char *text)
{
	if (strncmp(text, "HTTP/", 5) != 0 || strlen(text) != 8 || text[6] != '.' ||
	    text[5] < '0' || text[5] > '9' || text[7] < '0' || text[7] > '9')
		return refuse(h, 400, "the first line must be METHOD TARGET HTTP/1.1");
	if (text[5] != '1')
		return refuse(h, 505, "the version of HTTP must be 1.0 or 1.1");
	h->old = text[7] == '0';
	h->keep = !h->old;
	return 0;
}

static bool is_target(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return false;
	return *text != '\0';
}

static long take_first_line(struct head *h, char *line)
{
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version)
		return refuse(h, 400, "the first line must be METHOD TARGET HTTP/1.1");
	*target++ = '\0';
	*version++ = '\0';
	h->method = line;
	h->target = target;
	if (!is_token(line, strlen(line)) || strlen(line) > 15)
		return refuse(h, 400, "the method must be a word of at most 15 letters");
	if (!is_target(target))
		return refuse(h, 400, "the target has a blank or a control character");
	return take_version(h, version);
}

/* Accepts a value with blanks, tabs and bytes of any character set, but no
 * control characters. */
static bool is_value(const char *text)
{
	for (const char *p = text; *p; p++)
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
			return false;
	return true;
}

/* Parses "HTTP/1.1 200 OK"; the reason may be empty. */
static long take_status_line(struct head *h, char *line)
{
	if ((strncmp(line, "HTTP/1.0 ", 9) != 0 && strncmp(line, "HTTP/1.1 ", 9) != 0) ||
	    line[9] < '1' || line[9] > '5' || strspn(line + 9, "0123456789") != 3 ||
	    (line[12] && line[12] != ' ') || !is_value(line))
		return refuse(h, 502, "the first line must be HTTP/1.1 STATUS REASON");
	h->target = line;
	h->status = (unsigned)(100 * (line[9] - '0') + 10 * (line[10] - '0') +
			       (line[11] - '0'));
	return 0;
}

/* --- headers ---------------------------------------------------------------------- */

bool head_has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
		p += strspn(p, " \t");
		if (!strncasecmp(p, word, len) &&
		    (p[len] == '\0' || strchr(", \t", p[len])))
			return true;
	}
	return false;
}

static long take_length(struct head *h, const char *value)
{
	h->length = 0;
	if (!*value || value[strspn(value, "0123456789")])
		return refuse(h, 400, "Content-Length must be a decimal number");
	for (; *value; value++) {
		unsigned digit = (unsigned)(*value - '0');

		if (h->length > ((uint64_t)INT64_MAX - digit) / 10)
			return refuse(h, 413, "Content-Length is too large");
		h->length = 10 * h->length + digit;
	}
	return 0;
}

struct framing {
	unsigned lengths, encodings, hosts;
};

/* Notes what a field says about the connection and the body. */
static long take_meaning(struct head *h, const struct head_field *f,
			 struct framing *seen)
{
	if (!strcasecmp(f->name, "Host") && seen->hosts++)
		return refuse(h, 400, "there must be one Host");
	if (!strcasecmp(f->name, "Content-Length")) {
		if (seen->lengths++)
			return refuse(h, 400, "there must be one Content-Length");
		return take_length(h, f->value);
	}
	if (!strcasecmp(f->name, "Transfer-Encoding")) {
		if (seen->encodings++ || h->old || strcasecmp(f->value, "chunked") != 0)
			return refuse(h, 400, "Transfer-Encoding must be \"chunked\", "
				      "once, and of HTTP/1.1");
		h->chunked = true;
	}
	if (!strcasecmp(f->name, "Connection")) {
		if (head_has_word(f->value, "close"))
			h->keep = false;
		else if (h->old && head_has_word(f->value, "keep-alive"))
			h->keep = true;
	}
	if (!strcasecmp(f->name, "Expect") && !h->old)
		h->continues = !strcasecmp(f->value, "100-continue");
	return 0;
}

static long take_field(struct head *h, char *line, struct framing *seen)
{
	struct head_field *f = &h->field[h->fields];
	char *colon = strchr(line, ':');
	size_t len;

	if (!colon || !is_token(line, (size_t)(colon - line)))
		return refuse(h, 400, "a header must be NAME: VALUE, in one line and "
			      "without a blank before the colon");
	if (!is_value(colon + 1))
		return refuse(h, 400, "a header has a control character");
	if (h->fields == HEAD_HEADERS)
		return refuse(h, 431, "a request may have 100 headers and 16 KiB of "
			      "them");
	*colon++ = '\0';
	colon += strspn(colon, " \t");
	for (len = strlen(colon); len && strchr(" \t", colon[len - 1]); len--)
		colon[len - 1] = '\0';
	*f = (struct head_field){ line, colon };
	h->fields++;
	return take_meaning(h, f, seen);
}

/* Finds the end of the head, behind its empty line. Return: 0: it has not come;
 * -1: refused. */
static long find_end(struct head *h, const char *data, size_t len, size_t *first)
{
	/* some clients send an empty line after a body */
	while (*first + 2 <= len && *first < 8 && !memcmp(data + *first, "\r\n", 2))
		*first += 2;
	for (size_t i = *first; i < len; i++) {
		char before = i > *first ? data[i - 1] : '\0';

		if (!data[i] || (data[i] == '\n') != (before == '\r'))
			return refuse(h, 400, "a line of the head has a NUL, or does "
				      "not end with CR LF");
		if (data[i] == '\n' && i >= *first + 3 && data[i - 2] == '\n')
			return (long)i + 1;
	}
	return 0;
}

/* Checks the size so far. Return: as head_parse(). */
static long check_size(struct head *h, const char *data, size_t len, size_t first)
{
	const char *end = memmem(data + first, len - first, "\r\n", 2);
	size_t line = end ? (size_t)(end - data) - first : len - first;

	if (line > HEAD_BYTES)
		return refuse(h, 414, "the first line may have 16 KiB");
	if (end && len - first - line > HEAD_BYTES)
		return refuse(h, 431, "a request may have 100 headers and 16 KiB of "
			      "them");
	return 0;
}

static long take_lines(struct head *h, char *data, size_t end, size_t at, bool is_request)
{
	struct framing seen = { 0 };
	long r = 0;

	for (unsigned n = 0; r == 0 && data[at] != '\r'; n++) {
		char *line = data + at;

		at += strcspn(line, "\r") + 2;
		data[at - 2] = '\0';
		r = n ? take_field(h, line, &seen)
		      : is_request ? take_first_line(h, line)
				   : take_status_line(h, line);
	}
	if (r == 0 && !h->old && !seen.hosts && is_request)
		return refuse(h, 400, "there must be one Host");
	if (r == 0 && seen.lengths && seen.encodings)
		return refuse(h, 400, "a body has Content-Length or Transfer-Encoding, "
			      "not both");
	return r < 0 ? r : (long)end;
}

long head_parse(char *data, size_t len, struct head *h)
{
	size_t first = 0;
	long end, r;

	*h = (struct head){ .keep = true };
	end = find_end(h, data, len, &first);
	if (end < 0)
		return end;
	r = check_size(h, data, end ? (size_t)end : len, first);
	return r < 0 || !end ? r : take_lines(h, data, (size_t)end, first, true);
}

long head_parse_answer(char *data, size_t len, struct head *h)
{
	size_t first = 0;
	long end;

	*h = (struct head){ .keep = true };
	end = find_end(h, data, len, &first);
	if (end < 0 || (end == 0 && len < HEAD_ANSWER))
		return end;
	if (end == 0 || end > (long)HEAD_ANSWER)
		return refuse(h, 502, "the head of an answer may have 32 KiB");
	return first ? refuse(h, 502, "the head begins with an empty line")
		     : take_lines(h, data, (size_t)end, 0, false);
}

/* --- chunks ----------------------------------------------------------------------- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the length of a line with its CR LF; 0: its end has not come; -1: it ends in
 * another way, or is too long. */
static long line_of(const char *data, size_t len)
{
	size_t most = MIN(len, CHUNK_LINE);

	for (size_t i = 0; i < most; i++) {
		if (data[i] == '\r' && i + 1 == len)
			return 0;
		if (data[i] == '\r' && data[i + 1] == '\n')
			return (long)i + 2;
		if (data[i] == '\r' || data[i] == '\n' || !data[i])
			return -1;
	}
	return len >= CHUNK_LINE ? -1 : 0;
}

/* Parses a chunk's first line: "1a;what=ever". */
static long take_size(struct chunks *c, const char *data, size_t len)
{
	long line = line_of(data, len);
	size_t i = 0;

	if (line <= 0)
		return line;
	c->left = 0;
	for (int digit; (digit = digit_of(data[i])) >= 0; i++) {
		if (i == 15)
			return -1;
		c->left = 16 * c->left + (unsigned)digit;
	}
	if (!i || !strchr(";\r", data[i]))
		return -1;
	c->at = c->left ? CHUNK_DATA : CHUNK_TRAILER;
	return line;
}

static long take_trailer(struct chunks *c, const char *data, size_t len)
{
	long line = line_of(data, len);

	if (line <= 0)
		return line;
	if (line == 2)
		c->at = CHUNK_OVER;
	else if (++c->trailers > CHUNK_TRAILERS ||
		 !memchr(data, ':', (size_t)line))
		return -1;
	return line;
}

long chunks_take(struct chunks *c, const char *data, size_t len,
		 const char **body, size_t *size)
{
	*body = data;
	*size = 0;
	if (!len || c->at == CHUNK_OVER)
		return 0;
	if (c->at == CHUNK_SIZE)
		return take_size(c, data, len);
	if (c->at == CHUNK_TRAILER)
		return take_trailer(c, data, len);
	if (c->at == CHUNK_DATA) {
		*size = (size_t)MIN((uint64_t)len, c->left);
		c->left -= *size;
		c->at = c->left ? CHUNK_DATA : CHUNK_END;
		return (long)*size;
	}
	if (*data != '\r' || (len > 1 && data[1] != '\n'))
		return -1;
	if (len < 2)
		return 0;
	c->at = CHUNK_SIZE;
	return 2;
}
