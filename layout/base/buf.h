/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable bytes with a hard cap. An append that would pass the cap, or that
 * finds no memory, leaves the bytes as they were, marks the buffer failed and
 * returns a negative errno; a failed buffer refuses everything until
 * buf_clear(), so a series of appends needs one check at its end.
 * A zeroed struct buf is an empty buffer with the default cap.
 */
#ifndef LAYOUT_BASE_BUF_H
#define LAYOUT_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#define BUF_DEFAULT_CAP (16u << 20)

struct buf {
	char *data;   /* owned; always NUL-terminated behind len when not NULL */
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
/* Room for len more bytes at data + len; the caller raises len itself. */
int buf_reserve(struct buf *b, size_t len);
/* Drops len bytes from the front, and moves none of the others: data changes. So the owner of
 * data can be another one only if nothing was eaten. */
void buf_eat(struct buf *b, size_t len);

#define auto_buf __attribute__((cleanup(buf_done)))

#endif
