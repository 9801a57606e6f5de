/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The project's access to the JSON library: only files of layout/, and those
 * folders that README.md names, include this header. Pure.
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
 * One member of the root object whose text is wanted as it was written, so that
 * numbers beyond a double or 64 bits survive. Its value in the parsed tree is
 * checked, but do not use the numbers inside.
 */
struct json_raw {
	const char *key;  /* plain ASCII */
	const char *text; /* result: borrowed from data; NULL: absent */
	size_t len;
};

/*
 * Parses strict RFC 8259: no duplicate keys, no byte order mark, at most
 * max_depth levels and LIMIT_VALUE_PARTS parts, which a text of 1 MiB cannot
 * have. raw: the member to keep, or NULL. On failure err has a sentence without
 * a file name. Return: 0; -ENODATA: it ends too early or is empty; -EINVAL;
 * -ENOMEM.
 */
int json_read(const char *data, size_t len, unsigned max_depth,
	      struct json_raw *raw, json_t **ret_json, struct err *err);

/* Appends valid JSON text without blanks between its tokens. */
int json_compact(struct buf *out, const char *text, size_t len);

/* Read a member of an object. json_copy_text(): a text, cut to size; "" if it
 * is none. json_number(): an integer, or `absent`. */
void json_copy_text(const json_t *from, const char *name, char *ret, size_t size);
int64_t json_number(const json_t *from, const char *name, int64_t absent);

/* Appends a JSON string. Bytes that are not UTF-8 become U+FFFD. */
int json_quote(struct buf *out, const char *text, size_t len);
/* Quotes a text as json_quote() does, for a sentence. A result of `most` bytes
 * or more is cut and ends in "...". room has most + 4 bytes. Return: room. */
const char *json_shown(const char *text, size_t len, size_t most, char *room);

#endif
