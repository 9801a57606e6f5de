/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 of keys and of files, large and sparse ones included. The one place
 * that knows the crypto library.
 */
#ifndef VM_SHA_H
#define VM_SHA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA_HEX 65 /* 64 digits and a NUL */

struct sha;

struct sha *sha_new(void); /* NULL without memory */
void sha_free(struct sha *s);
void sha_add(struct sha *s, const void *data, size_t len);
/* le64 length, then the bytes: two lists never have the same sum. */
void sha_field(struct sha *s, const char *text);
/* Ends the sum and frees s. */
void sha_hex(struct sha *s, char ret[SHA_HEX]);

/*
 * The sum of a file's bytes. Return: 0, a negative errno, or -ECANCELED as
 * soon as *cancel (may be NULL) is true.
 */
int sha_file(int fd, const atomic_bool *cancel, char ret[SHA_HEX]);
/*
 * As sha_file, for a file that is mostly holes: over its size and each block
 * of 64 KiB that is not all zero, with its number. Holes cost nothing, and a
 * copy that is sparse in another way has the same sum.
 */
int sha_sparse(int fd, const atomic_bool *cancel, char ret[SHA_HEX]);

#endif
