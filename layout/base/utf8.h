/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, <= U+10FFFF. */
#ifndef LAYOUT_BASE_UTF8_H
#define LAYOUT_BASE_UTF8_H

#include <stddef.h>

#define UTF8_WRONG 0 /* no character begins with these bytes */
#define UTF8_SHORT (-1) /* the bytes end inside a character */

/*
 * The character at the start of len bytes (len > 0).
 * Return: its length 1..4, UTF8_WRONG or UTF8_SHORT.
 */
int utf8_step(const char *text, size_t len);

/* Bytes of the longest valid start of text; len if all of it is valid. */
size_t utf8_span(const char *text, size_t len);

/* True for C0 (NUL too), DEL and C1, given a character's valid bytes. */
int utf8_is_control(const char *text);

struct buf;
/* Appends text as one plain line: each byte of what is no UTF-8 or a control
 * character as \xHH. Errors are the buffer's. */
void utf8_put_plain(struct buf *out, const char *text);

/* Makes one plain line of it: what is no UTF-8 or a control character becomes
 * "?". */
void utf8_make_plain(char *text);

#endif
