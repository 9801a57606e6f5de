/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes SHA-256 of fields and files with OpenSSL. A field is hashed with its length,
 * so that two adjacent fields cannot be confused.
 *
 * sha_sparse() skips blocks of zeros and hashes each other block with its index: a hole
 * and written zeros give the same sum. The file functions read the whole file; worker
 * threads call them and can be canceled.
 */
#include "sha.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define BLOCK (64u << 10)

struct sha {
	EVP_MD_CTX *md; /* owned */
	bool failed;
};

struct sha *sha_new(void)
{
	struct sha *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->md = EVP_MD_CTX_new();
	if (!s->md || !EVP_DigestInit_ex(s->md, EVP_sha256(), NULL)) {
		sha_free(s);
		return NULL;
	}
	return s;
}

void sha_free(struct sha *s)
{
	if (!s)
		return;
	EVP_MD_CTX_free(s->md);
	free(s);
}

void sha_add(struct sha *s, const void *data, size_t len)
{
	if (!EVP_DigestUpdate(s->md, data, len))
		s->failed = true;
}

static void add_u64(struct sha *s, uint64_t v)
{
	uint8_t le[8];

	for (unsigned i = 0; i < 8; i++)
		le[i] = (uint8_t)(v >> (8 * i));
	sha_add(s, le, sizeof(le));
}

void sha_field(struct sha *s, const char *text)
{
	add_u64(s, strlen(text));
	sha_add(s, text, strlen(text));
}

void sha_hex(struct sha *s, char ret[SHA_HEX])
{
	unsigned char sum[EVP_MAX_MD_SIZE] = { 0 };

	/* This call never fails in practice; a zeroed sum matches no file. */
	if (!EVP_DigestFinal_ex(s->md, sum, NULL) || s->failed)
		memset(sum, 0, sizeof(sum));
	for (unsigned i = 0; i < 32; i++)
		snprintf(ret + 2 * i, 3, "%02x", sum[i]);
	sha_free(s);
}

static ssize_t read_block(int fd, uint8_t *block, uint64_t at)
{
	size_t len = 0;

	while (len < BLOCK) {
		ssize_t n = pread(fd, block + len, BLOCK - len,
				  (off_t)(at + len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

static bool all_zero(const uint8_t *p, size_t len)
{
	return !len || (!p[0] && !memcmp(p, p + 1, len - 1));
}

/* The next block at or after `at` that may hold data, or size. */
static uint64_t next_data(int fd, uint64_t at, uint64_t size)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? size : at;
	return MAX(at, (uint64_t)data / BLOCK * BLOCK);
}

static int sum_blocks(struct sha *s, int fd, uint64_t size, bool sparse,
		      const atomic_bool *cancel, uint8_t *block)
{
	for (uint64_t at = 0; at < size; at += BLOCK) {
		ssize_t n;

		if (cancel && atomic_load(cancel))
			return -ECANCELED;
		if (sparse)
			at = next_data(fd, at, size);
		if (at >= size)
			break;
		n = read_block(fd, block, at);
		if (n < 0)
			return (int)n;
		if (sparse && all_zero(block, (size_t)n))
			continue;
		if (sparse)
			add_u64(s, at / BLOCK);
		sha_add(s, block, (size_t)n);
	}
	return 0;
}

static int sum_file(int fd, bool sparse, const atomic_bool *cancel,
		    char ret[SHA_HEX])
{
	auto_free uint8_t *block = malloc(BLOCK);
	struct sha *s = sha_new();
	struct stat st;
	int r = -ENOMEM;

	if (s && block)
		r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0) {
		if (sparse)
			add_u64(s, (uint64_t)st.st_size);
		r = sum_blocks(s, fd, (uint64_t)st.st_size, sparse, cancel,
			       block);
	}
	if (r < 0)
		sha_free(s);
	else
		sha_hex(s, ret);
	return r;
}

int sha_file(int fd, const atomic_bool *cancel, char ret[SHA_HEX])
{
	return sum_file(fd, false, cancel, ret);
}

int sha_sparse(int fd, const atomic_bool *cancel, char ret[SHA_HEX])
{
	return sum_file(fd, true, cancel, ret);
}
