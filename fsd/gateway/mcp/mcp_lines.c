/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits standard input into messages, one a line. Skips blank lines, and a
 * byte order mark before the first one. Drops a line that is too long. Pure;
 * runs on the reader's thread.
 */
#include <string.h>

#include "mcp.h"

static void add(struct mcp_lines *l, const char *data, size_t len)
{
	if (l->drops || buf_add(&l->text, data, len) == 0)
		return;
	l->drops = true;
	buf_clear(&l->text);
}

static bool is_blank(const struct buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		if (!strchr(" \t\r", text->data[i]) || !text->data[i])
			return false;
	return true;
}

static void skip_mark(struct mcp_lines *l)
{
	static const char mark[] = "\xef\xbb\xbf";

	if (!l->begun && l->text.len >= 3 && !memcmp(l->text.data, mark, 3))
		buf_eat(&l->text, 3);
	l->begun = true;
}

static void end_line(struct mcp_lines *l)
{
	skip_mark(l);
	if (l->drops)
		l->fn(l->arg, NULL);
	else if (!is_blank(&l->text))
		l->fn(l->arg, &l->text);
	else
		buf_clear(&l->text);
	l->drops = false;
}

void mcp_lines_add(struct mcp_lines *l, const char *data, size_t len)
{
	while (len) {
		const char *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) : len;

		add(l, data, n);
		if (end)
			end_line(l);
		n += end ? 1 : 0;
		data += n;
		len -= n;
	}
}

void mcp_lines_end(struct mcp_lines *l)
{
	end_line(l);
	buf_done(&l->text);
}
