/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A multiplicative hash over words of eight bytes. digest_file() reads a whole file;
 * the other calls take its bytes as they arrive from the host.
 */
#include "digest.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* odd, so different words give different products */
#define FACTOR 0x9e3779b97f4a7c15u
#define PART (64u << 10)

static uint64_t mix(uint64_t value, uint64_t word)
{
	value = (value ^ word) * FACTOR;
	return value << 29 | value >> 35;
}

void digest_begin(struct digest *d)
{
	*d = (struct digest){.value = 1};
}

static void add_byte(struct digest *d, uint8_t byte)
{
	d->rest |= (uint64_t)byte << d->bits;
	d->bits += 8;
	if (d->bits < 64)
		return;
	d->value = mix(d->value, d->rest);
	d->rest = d->bits = 0;
}

void digest_add(struct digest *d, const void *data, size_t length)
{
	const uint8_t *p = data;
	uint64_t word, value;

	for (; length && d->bits; length--)
		add_byte(d, *p++);
	value = d->value;
	for (; length >= sizeof(word); length -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		value = mix(value, word);
		p += sizeof(word);
	}
	d->value = value;
	for (; length; length--)
		add_byte(d, *p++);
}

uint64_t digest_end(struct digest *d)
{
	/* `bits` too: otherwise zeroes at the end would not change the checksum */
	return mix(mix(d->value, d->rest), d->bits);
}

int digest_file(int fd, uint64_t *ret)
{
	static uint8_t part[PART];
	struct digest d;
	ssize_t n;

	digest_begin(&d);
	do {
		n = read(fd, part, sizeof(part));
		if (n > 0)
			digest_add(&d, part, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	*ret = digest_end(&d);
	return n < 0 ? -errno : 0;
}
