/* SPDX-License-Identifier: Apache-2.0 */
/* Small arithmetic: array sizes, container_of, checked sums, bounded parses. */
#ifndef LAYOUT_BASE_NUM_H
#define LAYOUT_BASE_NUM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* Adds b to *sum. Returns false, and leaves *sum, if it does not fit. */
static inline bool add_checked(uint64_t *sum, uint64_t b)
{
	return !__builtin_add_overflow(*sum, b, sum) ? true : (*sum -= b, false);
}

/*
 * Reads a whole decimal number in [min, max]. No sign, blank or suffix.
 * Return: 0, -EINVAL (not a number) or -ERANGE.
 */
static inline int parse_u64(const char *text, uint64_t min, uint64_t max,
			    uint64_t *ret_value)
{
	char *end;
	unsigned long long v;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno || v < min || v > max)
		return -ERANGE;
	*ret_value = v;
	return 0;
}

#endif
