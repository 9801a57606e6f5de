/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the beginning of a text can still become JSON, byte for byte
 * as it arrives. It only keeps its state in the grammar, no text. If it rejects
 * a text, no further bytes can repair it. The reverse is not true: duplicate
 * keys and numbers that are too large are found only when the text is parsed.
 * Pure.
 */
#ifndef LAYOUT_JSON_PREFIX_H
#define LAYOUT_JSON_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_prefix_state {
	JSON_OPEN, /* the text is not complete yet */
	JSON_WHOLE, /* a complete value; blanks may follow */
	JSON_WRONG, /* the byte at `at` is not allowed there */
};

/* The tokens that are allowed next. */
enum json_expect {
	JSON_VALUE, /* at the root, after a colon, or after a comma in a list */
	JSON_VALUE_OR_END, /* the last byte was [ */
	JSON_KEY, /* the last byte was a comma in an object */
	JSON_KEY_OR_END, /* the last byte was { */
	JSON_COLON,
	JSON_COMMA_OR_END,
	JSON_NOTHING, /* the root value is complete */
};

#define JSON_PREFIX_DEPTH 256u

/* State of one text. The owner sets it to zero, then sets the limits. */
struct json_prefix {
	unsigned max_depth;  /* 1 .. JSON_PREFIX_DEPTH */
	bool bom;            /* a byte order mark may come first */
	bool object; /* the root must be an object */
	/* The fields below are private; only json_mistake.h reads them, too. */
	uint64_t at; /* bytes taken */
	enum json_prefix_state state;
	enum json_expect expect;
	unsigned token;      /* enum in json_prefix.c; 0: between two */
	unsigned step;       /* within the token */
	bool is_key; /* the string is a key */
	unsigned code; /* value of the escape \uXXXX so far */
	unsigned high; /* the first half of a surrogate pair was read */
	unsigned depth;
	uint64_t in_object[JSON_PREFIX_DEPTH / 64]; /* a bit for each level */
	unsigned char part[4]; /* bytes of an incomplete character */
	unsigned part_len; /* number of bytes in part */
};

/* Takes len more bytes, up to the first wrong one. */
enum json_prefix_state json_prefix_feed(struct json_prefix *p, const char *data,
					size_t len);
/* Returns whether the innermost open bracket is an object's. */
bool json_prefix_in_object(const struct json_prefix *p);
bool json_prefix_in_string(const struct json_prefix *p);

#endif
