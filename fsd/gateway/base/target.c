/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits a request's target before it decodes the parts, so that "%2F" is a
 * character of a name and no separator. Refuses "%00", because all later code
 * uses C strings. Pure.
 */
#include "target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/dots.h"

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int target_decode(char *text, int is_query)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		int high, low;

		if (*p == '+' && is_query) {
			*to++ = ' ';
			continue;
		}
		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		high = digit(p[1]);
		low = high < 0 ? -1 : digit(p[2]);
		if (low < 0 || !(high | low))
			return -EINVAL;
		*to++ = (char)(high << 4 | low);
		p += 2;
	}
	*to = '\0';
	return 0;
}

/* Parses "a=b&c". */
static int split_query(struct target *t, char *text)
{
	while (text && *text) {
		char *next = strchr(text, '&');
		struct target_query *q = &t->query[t->queries];
		char *equals;

		if (next)
			*next++ = '\0';
		if (*text && t->queries == TARGET_QUERIES)
			return -E2BIG;
		if (*text) {
			equals = strchr(text, '=');
			if (equals)
				*equals++ = '\0';
			q->name = text;
			q->value = equals ? equals : text + strlen(text);
			if (target_decode(q->name, 1) < 0 ||
			    target_decode(q->value, 1) < 0)
				return -EINVAL;
			t->queries++;
		}
		text = next;
	}
	return 0;
}

static int split_path(struct target *t, char *text)
{
	while (text && *text) {
		char *next = strchr(text, '/');

		if (next)
			*next++ = '\0';
		if (*text) {
			if (t->parts == TARGET_PARTS)
				return -E2BIG;
			t->part[t->parts++] = text;
			if (target_decode(text, 0) < 0 || is_dots(text))
				return -EINVAL;
			for (const char *p = text; *p; p++)
				if ((unsigned char)*p < 0x20 || *p == 0x7f)
					return -EINVAL;
		}
		text = next;
	}
	return 0;
}

int target_parse(const char *uri, struct target *ret)
{
	size_t len = strlen(uri);
	char *query, *parts;
	int r;

	*ret = (struct target){ 0 };
	ret->room = malloc(2 * len + 2);
	if (!ret->room)
		return -ENOMEM;
	ret->path = ret->room;
	memcpy(ret->path, uri, len + 1);
	query = strchr(ret->path, '?');
	if (query)
		*query++ = '\0';
	/* a second copy, which is split */
	parts = ret->room + len + 1;
	memcpy(parts, ret->path, strlen(ret->path) + 1);
	if (*parts != '/')
		return -EINVAL;
	r = split_path(ret, parts + 1);
	return r < 0 ? r : split_query(ret, query);
}

void target_done(struct target *t)
{
	free(t->room);
	t->room = NULL;
}

const char *target_query(const struct target *t, const char *name)
{
	for (unsigned i = 0; i < t->queries; i++)
		if (!strcmp(t->query[i].name, name))
			return t->query[i].value;
	return NULL;
}
