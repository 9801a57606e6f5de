/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable bytes with a hard cap. An append beyond the cap, or without memory,
 * leaves the bytes unchanged, marks the buffer failed and returns a negative
 * errno. A failed buffer refuses everything until buf_clear(), so a series of
 * appends needs one check at its end. A zeroed struct buf is an empty buffer
 * with the default cap. Each buffer is used by one thread at a time.
 */
#ifndef LAYOUT_BASE_BUF_H
#define LAYOUT_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#define BUF_DEFAULT_CAP (16u << 20)

struct buf {
	char *data; /* owned; if not NULL, a NUL follows the bytes */
	size_t len;   /* bytes in use */
	size_t size;  /* bytes allocated */
	size_t cap;   /* most bytes ever; 0 means BUF_DEFAULT_CAP */
	size_t eaten; /* bytes allocated before data */
	int failed;   /* negative errno of the first append that failed */
};

void buf_done(struct buf *b);
void buf_clear(struct buf *b);
/* Return: 0, -EFBIG (cap) or -ENOMEM. */
int buf_add(struct buf *b, const void *data, size_t len);
int buf_str(struct buf *b, const char *text);
int buf_fmt(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Makes room for len more bytes at data + len; the caller adds to len. */
int buf_reserve(struct buf *b, size_t len);
/*
 * Drops len bytes from the front without moving the others: `data` changes. So
 * ownership of `data` may be moved to another owner only if no bytes were
 * eaten.
 */
void buf_eat(struct buf *b, size_t len);

#define auto_buf __attribute__((cleanup(buf_done)))

#endif
