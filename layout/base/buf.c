/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements struct buf: one malloc(3) block, a NUL behind the bytes, and a prefix of
 * bytes that were eaten. buf_eat() only moves `data` forward; buf_reserve() moves the
 * bytes back when it needs memory.
 *
 * `failed` holds the first error. Each function works on its argument alone, so any
 * thread may call it with a buffer of its own.
 */
#include "buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num.h"

void buf_done(struct buf *b)
{
	int saved = errno;

	if (b->data)
		free(b->data - b->eaten);
	*b = (struct buf){ .cap = b->cap };
	errno = saved;
}

/*
 * Moves the bytes to the front, so that the space of eaten bytes can be used.
 */
static void move_front(struct buf *b)
{
	if (!b->eaten)
		return;
	memmove(b->data - b->eaten, b->data, b->len + 1);
	b->data -= b->eaten;
	b->size += b->eaten;
	b->eaten = 0;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = 0;
	move_front(b);
	if (b->data)
		b->data[0] = '\0';
}

static bool has_room(const struct buf *b, size_t len)
{
	return b->len + len + 1 <= b->size;
}

int buf_reserve(struct buf *b, size_t len)
{
	size_t cap = b->cap ? b->cap : BUF_DEFAULT_CAP;
	bool moves_little = b->eaten >= b->len;
	size_t size;
	char *data;

	if (b->failed)
		return b->failed;
	if (len > cap || b->len > cap - len)
		return b->failed = -EFBIG;
	if (has_room(b, len))
		return 0;
	move_front(b);
	/* grow instead of moving often, if much is in use */
	if (has_room(b, len) && (moves_little || b->size > cap))
		return 0;
	size = MAX(b->size * 2, b->len + len + 1);
	size = MIN(MAX(size, (size_t)64), cap + 1);
	data = realloc(b->data, size);
	if (!data)
		return b->failed = -ENOMEM;
	b->data = data;
	b->size = size;
	b->data[b->len] = '\0';
	return 0;
}

int buf_add(struct buf *b, const void *data, size_t len)
{
	int r = buf_reserve(b, len);

	if (r < 0)
		return r;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_str(struct buf *b, const char *text)
{
	return buf_add(b, text, strlen(text));
}

int buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int len, r;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		return b->failed = -EINVAL;
	r = buf_reserve(b, (size_t)len);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)len + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)len;
	return 0;
}

void buf_eat(struct buf *b, size_t len)
{
	len = MIN(len, b->len);
	if (!len)
		return;
	b->data += len;
	b->eaten += len;
	b->size -= len;
	b->len -= len;
	if (!b->len)
		move_front(b);
}
