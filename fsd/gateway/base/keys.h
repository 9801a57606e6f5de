/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of --api-key-file. The gateway keeps a key's SHA-256 and its label. */
#ifndef GATEWAY_KEYS_H
#define GATEWAY_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/err.h"
#include "text.h"

#define KEY_LABEL 64u
#define KEY_OWNER 17u /* 16 digits of the sum, and a NUL */

/* The client of a request. Sandboxes belong to an owner. */
struct caller {
	char owner[KEY_OWNER]; /* "": there are no keys */
	char label[KEY_LABEL];
};

struct key {
	uint8_t sum[SUM_SIZE];
	struct caller caller;
};

struct keys {
	/* NULL: there are no keys, and all clients are one owner */
	const char *file;
	struct key *item; /* owned */
	size_t count;
};

/* Parses lines "KEY [label]" with "#" comments. Pure. Return: 0, -EINVAL with a
 * sentence, -ENOMEM. */
int keys_parse(struct keys *k, const char *text, size_t len, struct err *err);
/*
 * Reads the file again; if it is wrong, keeps the old keys. The file must belong to this
 * user or to root, and others may not read it. Waits for the disk. Return: 0 or negative
 * errno.
 */
int keys_load(struct keys *k, struct err *err);
void keys_done(struct keys *k);

/* Finds a key and sets *ret to its owner and label. text: the key as sent, or NULL. Return:
 * false: unknown. Without a file of keys: true, and the owner is "". */
bool keys_find(const struct keys *k, const char *text, struct caller *ret);
/*
 * Makes a key: "e2b_" and 40 hexadecimal digits. Return: 0 or negative errno.
 */
int keys_new(char ret[45]);

#endif
