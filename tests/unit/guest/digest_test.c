/* SPDX-License-Identifier: Apache-2.0 */
/* A digest is of the bytes, however they come. */
#include "guest/files/digest.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/tap.h"

#define LENGTH 300

static uint64_t digest_in_parts(const uint8_t *bytes, size_t length,
				size_t part)
{
	struct digest d;

	digest_begin(&d);
	for (size_t at = 0; at < length; at += part)
		digest_add(&d, bytes + at,
			   part < length - at ? part : length - at);
	return digest_end(&d);
}

static void test_parts(const uint8_t *bytes)
{
	uint64_t whole = digest_in_parts(bytes, LENGTH, LENGTH);
	unsigned other = 0;

	for (size_t part = 1; part < 40; part++)
		other += digest_in_parts(bytes, LENGTH, part) != whole;
	is_int((long long)other, 0, "the parts in which bytes come are no matter");
}

static void test_changes(uint8_t *bytes)
{
	uint64_t whole = digest_in_parts(bytes, LENGTH, LENGTH);
	unsigned same = 0;

	for (size_t at = 0; at < LENGTH * 8; at++) {
		bytes[at / 8] ^= (uint8_t)(1u << at % 8);
		same += digest_in_parts(bytes, LENGTH, LENGTH) == whole;
		bytes[at / 8] ^= (uint8_t)(1u << at % 8);
	}
	is_int((long long)same, 0, "any bit is seen");
}

static void test_lengths(void)
{
	static const uint8_t zeroes[LENGTH];
	unsigned same = 0;

	for (size_t n = 0; n + 1 < LENGTH; n++)
		same += digest_in_parts(zeroes, n, LENGTH) ==
			digest_in_parts(zeroes, n + 1, LENGTH);
	is_int((long long)same, 0, "and one zero more");
}

static void test_file(const uint8_t *bytes)
{
	char path[] = "/tmp/guest_digest_XXXXXX";
	int fd = mkstemp(path);
	uint64_t digest = 0;

	ok(fd >= 0 && !unlink(path) && write(fd, bytes, LENGTH) == LENGTH &&
	   !lseek(fd, 0, SEEK_SET) && !digest_file(fd, &digest) &&
	   digest == digest_in_parts(bytes, LENGTH, LENGTH),
	   "a file's is that of its bytes");
	close(fd);
	ok(digest_file(-1, &digest) < 0, "what cannot be read has none");
}

int main(void)
{
	uint8_t bytes[LENGTH];

	for (size_t i = 0; i < LENGTH; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 31);
	test_parts(bytes);
	test_changes(bytes);
	test_lengths();
	test_file(bytes);
	return done_testing();
}
