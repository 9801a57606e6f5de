/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the text of a manifest, a guest image's or an environment's: lines
 * "key value", and for each file of the directory "part NAME SIZE SHA256". Any
 * thread.
 */
#ifndef VM_MANIFEST_H
#define VM_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/err.h"
#include "vm/os/sha.h"

#define MANIFEST_MAX (64u << 10) /* bytes of a manifest's text */
#define MANIFEST_PARTS_MAX 16

struct manifest_part {
	char name[64]; /* the file's name, without a path */
	uint64_t size;
	char sum[SHA_HEX];
};

struct manifest_parts {
	struct manifest_part part[MANIFEST_PARTS_MAX];
	unsigned count;
};

/* Handles a line that is no part. value: the text after the key and a blank.
 * Return: 0, or negative: the line is wrong. */
typedef int (*manifest_line_fn)(void *arg, const char *key, const char *value);

/*
 * Parses text, which needs the line "format 1" and may not have two parts of
 * one name. remedy: end of an error's sentence. Return: 0, -EINVAL with the
 * line in *err, -ENOMEM.
 */
int manifest_read(const char *text, size_t len, struct manifest_parts *ret,
		  manifest_line_fn fn, void *arg, const char *remedy,
		  struct err *err);
/* Finds a part by its name; NULL: there is none. */
const struct manifest_part *manifest_part(const struct manifest_parts *parts,
					  const char *name);
/* Returns whether text is 64 digits of a SHA-256, as sha_hex() writes them. */
bool manifest_is_sum(const char *text);

#endif
