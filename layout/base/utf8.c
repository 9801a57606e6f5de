/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the length of characters and of the valid prefix of a text, by a table of first
 * bytes. utf8_make_plain() replaces control characters and invalid bytes by "?".
 *
 * The file allocates no memory and has no state, and a text may arrive in pieces:
 * UTF8_SHORT means that more bytes decide.
 */
#include "utf8.h"

#include <stdint.h>
#include <string.h>

/*
 * A row for each range of first bytes: how many bytes follow, and the range of
 * the first of those. The ranges exclude overlong forms, surrogates and codes
 * above U+10FFFF. Each further byte is 80..bf.
 */
static const struct lead {
	uint8_t from, to, more, low, high;
} leads[] = {
	{ 0xc2, 0xdf, 1, 0x80, 0xbf }, { 0xe0, 0xe0, 2, 0xa0, 0xbf },
	{ 0xe1, 0xec, 2, 0x80, 0xbf }, { 0xed, 0xed, 2, 0x80, 0x9f },
	{ 0xee, 0xef, 2, 0x80, 0xbf }, { 0xf0, 0xf0, 3, 0x90, 0xbf },
	{ 0xf1, 0xf3, 3, 0x80, 0xbf }, { 0xf4, 0xf4, 3, 0x80, 0x8f },
};

static const struct lead *find_lead(uint8_t byte)
{
	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++)
		if (byte >= leads[i].from && byte <= leads[i].to)
			return &leads[i];
	return NULL;
}

int utf8_step(const char *text, size_t len)
{
	const uint8_t *p = (const uint8_t *)text;
	const struct lead *lead;

	if (p[0] < 0x80)
		return 1;
	lead = find_lead(p[0]);
	if (!lead)
		return UTF8_WRONG;
	for (size_t i = 1; i <= lead->more; i++) {
		uint8_t low = i == 1 ? lead->low : 0x80;
		uint8_t high = i == 1 ? lead->high : 0xbf;

		if (i >= len)
			return UTF8_SHORT;
		if (p[i] < low || p[i] > high)
			return UTF8_WRONG;
	}
	return lead->more + 1;
}

size_t utf8_span(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		int step = utf8_step(text + at, len - at);

		if (step <= 0)
			break;
		at += (size_t)step;
	}
	return at;
}

int utf8_is_control(const char *text)
{
	const uint8_t *p = (const uint8_t *)text;

	return p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
}

void utf8_make_plain(char *text)
{
	size_t len = strlen(text);

	for (size_t at = 0; at < len;) {
		int step = utf8_step(text + at, len - at);
		size_t n = step > 0 ? (size_t)step : 1;

		if (step <= 0 || utf8_is_control(text + at))
			memset(text + at, '?', n);
		at += n;
	}
}

void utf8_recover(char *text, size_t size)
{
	text[size - 1] = '\0';
	utf8_make_plain(text);
}
