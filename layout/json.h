/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only file of the project that knows the JSON library; config.c and
 * result.c reach it through here. Nobody else includes this header.
 */
#ifndef LAYOUT_JSON_H
#define LAYOUT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/buf.h"
#include "layout/base/err.h"

static inline void json_done_(json_t **json)
{
	json_decref(*json);
}
#define auto_json __attribute__((cleanup(json_done_)))

/*
 * One member of the root object whose text is wanted as it was written:
 * numbers that a double or 64 bits cannot hold survive in it. Its value in the
 * parsed tree is checked, but the numbers inside are not to be used.
 */
struct json_raw {
	const char *key;  /* plain ASCII */
	const char *text; /* ret: NULL if absent; borrowed from data */
	size_t len;
};

/*
 * Strict RFC 8259 with no duplicate keys, no BOM, at most max_depth levels and
 * LIMIT_VALUE_PARTS parts, which a text of 1 MiB cannot have.
 * raw: NULL, or the member to keep. On failure err has a sentence without a
 * file's name.
 * Return: 0; -ENODATA: it ends too early or is empty; -EINVAL; -ENOMEM.
 */
int json_read(const char *data, size_t len, unsigned max_depth,
	      struct json_raw *raw, json_t **ret_json, struct err *err);

/* Appends valid JSON text without the blanks between its tokens. */
int json_compact(struct buf *out, const char *text, size_t len);

/* A member of an object: a text, cut to size and "" if it is none; an integer, or absent. */
void json_copy_text(const json_t *from, const char *name, char *ret, size_t size);
int64_t json_number(const json_t *from, const char *name, int64_t absent);

/* Appends a JSON string; bytes that are no UTF-8 become U+FFFD. */
int json_quote(struct buf *out, const char *text, size_t len);
/* The text as json_quote() has it, for a sentence: what has `most` bytes or more is
 * cut and ends in "...". room has most + 4 bytes. Return: room. */
const char *json_shown(const char *text, size_t len, size_t most, char *room);

#endif
