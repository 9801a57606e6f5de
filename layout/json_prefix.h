/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells of the beginning of a text whether it can still become JSON, byte for
 * byte as it arrives. It is no parser: it keeps where it is in the grammar, and
 * nothing of the text. What it rejects no further bytes can mend. The reverse
 * is not promised: duplicate keys and numbers that are too large are found when
 * the text is parsed. Pure.
 */
#ifndef LAYOUT_JSON_PREFIX_H
#define LAYOUT_JSON_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_prefix_state {
	JSON_OPEN,  /* more has to come */
	JSON_WHOLE, /* a whole value is there; blanks may follow */
	JSON_WRONG, /* the byte at `at` cannot stand there */
};

/* What may come next between two tokens. */
enum json_expect {
	JSON_VALUE,         /* as the root, behind a colon, or a comma in a list */
	JSON_VALUE_OR_END,  /* behind [ */
	JSON_KEY,           /* behind a comma in an object */
	JSON_KEY_OR_END,    /* behind { */
	JSON_COLON,
	JSON_COMMA_OR_END,
	JSON_NOTHING,       /* behind the root */
};

#define JSON_PREFIX_DEPTH 256u

/* Zeroed but for the limits: nothing has come yet. */
struct json_prefix {
	unsigned max_depth;  /* 1 .. JSON_PREFIX_DEPTH */
	bool bom;            /* a byte order mark may come first */
	bool object;         /* the root is to be an object */
	/* The rest is its own; where it went wrong describes why. */
	uint64_t at;         /* bytes that were taken */
	enum json_prefix_state state;
	enum json_expect expect;
	unsigned token;      /* enum in json_prefix.c; 0: between two */
	unsigned step;       /* within the token */
	bool is_key;         /* the string is one */
	unsigned code;       /* of the escape \uXXXX that is being read */
	unsigned high;       /* a first half of a pair was read */
	unsigned depth;
	uint64_t in_object[JSON_PREFIX_DEPTH / 64]; /* a bit a level */
	unsigned char part[4]; /* of a character that is not whole, */
	unsigned part_len;     /* so many bytes */
};

/* Takes len more bytes, up to the first wrong one. */
enum json_prefix_state json_prefix_feed(struct json_prefix *p, const char *data,
					size_t len);
/* Is the innermost thing that is open an object? Else a list, or nothing. */
bool json_prefix_in_object(const struct json_prefix *p);
bool json_prefix_in_string(const struct json_prefix *p);

#endif
