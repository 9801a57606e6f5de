/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 of keys and of files, large and sparse ones included. Only sha.c uses
 * the crypto library. The file functions read the whole file, so call them on a
 * worker thread.
 */
#ifndef VM_SHA_H
#define VM_SHA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA_HEX 65 /* 64 digits and a NUL */

struct sha;

struct sha *sha_new(void); /* Return: NULL without memory */
void sha_free(struct sha *s);
void sha_add(struct sha *s, const void *data, size_t len);
/* Adds a length (le64) and the bytes, so that two different lists have
 * different sums. */
void sha_field(struct sha *s, const char *text);
/* Writes the sum and frees s. */
void sha_hex(struct sha *s, char ret[SHA_HEX]);

/* Computes the sum of a file. cancel may be NULL. Return: 0, -ECANCELED soon
 * after *cancel is true, or another negative errno. */
int sha_file(int fd, const atomic_bool *cancel, char ret[SHA_HEX]);
/*
 * As sha_file(), for a file that is mostly holes. Hashes the size, and each
 * block of 64 KiB that is not all zero, with its number. Holes cost no time,
 * and a copy with other holes has the same sum.
 */
int sha_sparse(int fd, const atomic_bool *cancel, char ret[SHA_HEX]);

#endif
