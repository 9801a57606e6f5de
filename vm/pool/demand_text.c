/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses and prints the demand that is stored on the disk. Owns no state; may
 * run on any thread.
 */
#include "demand_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "layout/base/num.h"
#include "vm/jail/jail_wire.h"

#define HEAD "demand 1\n"
#define THOUSANDTHS 1000.0
#define WEIGHT_MAX 1000000u /* thousandths; the decay bounds a sum to 20 */

static const char *number(const char *at, uint64_t min, uint64_t max,
			  uint64_t *ret)
{
	char word[24];
	size_t len = strcspn(at, " \n");

	if (len >= sizeof(word) || at[len] != ' ')
		return NULL;
	memcpy(word, at, len);
	word[len] = '\0';
	return parse_u64(word, min, max, ret) < 0 ? NULL : at + len + 1;
}

static bool is_name(const char *name)
{
	return name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-@")] ==
		       '\0' &&
	       name[0] >= 'a' && name[0] <= 'z';
}

/* Parses one line. Return: the text behind it, or NULL: the line is damaged. */
static const char *parse_row(const char *at, struct demand_row *ret)
{
	uint64_t mib, cpus, weight;
	size_t len;

	*ret = (struct demand_row){ 0 };
	at = number(at, 1, JAIL_MEMORY_MIB_MAX, &mib);
	at = at ? number(at, 1, JAIL_CPUS_MAX, &cpus) : NULL;
	for (unsigned r = 0; at && r < WIRE_RUN_MAX; r++) {
		at = number(at, 0, WEIGHT_MAX, &weight);
		if (at)
			ret->demand.weight[r] = (double)weight / THOUSANDTHS;
	}
	len = at ? strcspn(at, "\n") : 0;
	if (!len || len >= sizeof(ret->environment) || at[len] != '\n')
		return NULL;
	memcpy(ret->environment, at, len);
	ret->memory_mib = (uint32_t)mib;
	ret->cpus = (uint32_t)cpus;
	return is_name(ret->environment) ? at + len + 1 : NULL;
}

int demand_text_parse(const char *text, struct demand_row rows[DEMAND_ROWS],
		      unsigned *ret_count)
{
	const char *at = text + strlen(HEAD);
	unsigned n = 0;

	*ret_count = 0;
	if (strncmp(text, HEAD, strlen(HEAD)) != 0)
		return -EBADMSG;
	while (*at) {
		at = n < DEMAND_ROWS ? parse_row(at, &rows[n++]) : NULL;
		if (!at)
			return -EBADMSG;
	}
	*ret_count = n;
	return 0;
}

void demand_text_print(const struct demand_row *rows, unsigned count,
		       struct buf *ret)
{
	buf_str(ret, HEAD);
	for (unsigned i = 0; i < count; i++) {
		const struct demand_row *row = &rows[i];

		buf_fmt(ret, "%u %u ", row->memory_mib, row->cpus);
		for (unsigned r = 0; r < WIRE_RUN_MAX; r++)
			buf_fmt(ret, "%.0f ",
				row->demand.weight[r] * THOUSANDTHS);
		buf_fmt(ret, "%s\n", row->environment);
	}
}
