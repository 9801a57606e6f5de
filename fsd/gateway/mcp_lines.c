/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts standard input into messages, one a line. Empty lines are no messages. The text of
 * a line that is too long is dropped up to the line's end. Pure, on the reader's thread.
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

static void end_line(struct mcp_lines *l)
{
	if (l->drops)
		l->fn(l->arg, NULL);
	else if (l->text.len)
		l->fn(l->arg, &l->text);
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
