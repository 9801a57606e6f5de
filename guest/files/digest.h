/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checksum of a file's contents, to find out whether they have changed. It is
 * fast under emulation. It resists no attack and need not: a program that makes
 * two files with one checksum only hides a change of its own from its own
 * result.
 */
#ifndef GUEST_DIGEST_H
#define GUEST_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct digest {
	uint64_t value;
	uint64_t rest; /* bytes of a word that is not complete yet */
	unsigned bits; /* number of bits in `rest` */
};

void digest_begin(struct digest *d);
/* Adds bytes. The checksum does not depend on how the bytes are divided. */
void digest_add(struct digest *d, const void *data, size_t length);
uint64_t digest_end(struct digest *d);
/* Computes the checksum of the rest of the file fd. Return: 0 or negative
 * errno. */
int digest_file(int fd, uint64_t *ret);

#endif
