/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends a text to a buffer with control characters and invalid bytes as \xNN. So text
 * of a guest cannot move a terminal's cursor.
 *
 * It is not in utf8.c, because that file does not use struct buf.
 */
#include <stdbool.h>
#include <string.h>

#include "buf.h"
#include "utf8.h"

void utf8_put_plain(struct buf *out, const char *text)
{
	size_t len = strlen(text);

	for (size_t at = 0; at < len;) {
		int step = utf8_step(text + at, len - at);
		size_t n = step > 0 ? (size_t)step : 1;
		bool plain = step > 0 && !utf8_is_control(text + at);

		if (plain)
			buf_add(out, text + at, n);
		for (size_t i = 0; !plain && i < n; i++)
			buf_fmt(out, "\\x%02x", (unsigned char)text[at + i]);
		at += n;
	}
}
