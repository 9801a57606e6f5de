/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temporary names. If getrandom(2) fails the process id is used instead: mkdir(2) or
 * link(2) reports a collision, so that is safe.
 */
#include "temp.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

void temp_name(const char *prefix, char ret[32])
{
	uint64_t r = 0;

	if (getrandom(&r, sizeof(r), 0) < 0)
		r = (uint64_t)getpid();
	snprintf(ret, 32, "%.8s%016llx", prefix, (unsigned long long)r);
}

bool is_temp_name(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncmp(name, prefix, len) && strlen(name + len) == 16 &&
	       strspn(name + len, "0123456789abcdef") == 16;
}
