/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's file system gives its inode numbers out in an order that tells
 * each user how much the others store. They are shown shuffled: by a Feistel
 * network of two halves of 24 bits, under a key that stays with the state
 * directory, so that a file keeps its number.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "fsd/store/store.h"
#include "node_int.h"

#define HALF_BITS 24
#define HALF ((1ull << HALF_BITS) - 1)
#define WHOLE ((1ull << 2 * HALF_BITS) - 1)
#define ROUNDS 4

uint64_t node_ino_shuffle(uint64_t ino, uint64_t key)
{
	uint64_t a = ino >> HALF_BITS & HALF, b = ino & HALF;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t mixed = a ^ (hash_u64(key + hash_u64(b << 8 | i)) &
				      HALF);

		a = b;
		b = mixed;
	}
	return (ino & ~WHOLE) | a << HALF_BITS | b;
}

/* Return: the key of this state directory. If it cannot be stored, each start makes
 * another one, and files change their numbers. */
uint64_t node_ino_key(const struct store *store)
{
	auto_close int fd = store_open_own(store, "key");
	uint64_t key = 0;

	if (fd >= 0 && read(fd, &key, sizeof(key)) == sizeof(key))
		return key;
	while (getrandom(&key, sizeof(key), 0) < 0 && errno == EINTR)
		;
	if (fd >= 0 && pwrite(fd, &key, sizeof(key), 0) != sizeof(key))
		log_warn("%s/key cannot be written: inode numbers will change",
			 store_dir(store));
	return key;
}
