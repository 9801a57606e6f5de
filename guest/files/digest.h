/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number for a file's contents, to tell whether they have changed. Fast under
 * emulation, too; it is no defence, and none is needed: who makes two files
 * alike by it hides a change of his own from himself.
 */
#ifndef GUEST_DIGEST_H
#define GUEST_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct digest {
	uint64_t value;
	uint64_t rest;  /* bytes of a word that is not whole yet */
	unsigned bits;  /* of these */
};

void digest_begin(struct digest *d);
/* However the bytes are divided. */
void digest_add(struct digest *d, const void *data, size_t length);
uint64_t digest_end(struct digest *d);
/* The digest of the rest of the file fd. Return: 0 or negative errno. */
int digest_file(int fd, uint64_t *ret);

#endif
