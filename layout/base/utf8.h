/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 as in RFC 3629: no overlong forms, no surrogates, at most U+10FFFF.
 * Pure.
 */
#ifndef LAYOUT_BASE_UTF8_H
#define LAYOUT_BASE_UTF8_H

#include <stddef.h>

#define UTF8_WRONG 0 /* no character begins with these bytes */
#define UTF8_SHORT (-1) /* the bytes end inside a character */

/* Returns the length 1..4 of the character at the start of len bytes (len > 0),
 * UTF8_WRONG or UTF8_SHORT. */
int utf8_step(const char *text, size_t len);

/* Returns the length of the longest valid beginning of text; len if all of it
 * is valid. */
size_t utf8_span(const char *text, size_t len);

/*
 * Returns true for C0 (also NUL), DEL and C1; text: valid bytes of a character.
 */
int utf8_is_control(const char *text);

struct buf;
/* Appends text as one line: control characters and bytes that are not UTF-8
 * become \xHH. Errors are the buffer's. */
void utf8_put_plain(struct buf *out, const char *text);

/* Makes text one line: control characters and bytes that are not UTF-8 become
 * "?". */
void utf8_make_plain(char *text);
/* Does the same with memory of size bytes (size >= 1) that an untrusted process
 * has written. First sets the last byte to NUL, so that the text ends. */
void utf8_recover(char *text, size_t size);

#endif
