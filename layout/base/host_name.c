/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the names of hosts and brings them to one form. There is no state.
 *
 * The grammar is narrower than that of DNS, where a label may have any byte: a program
 * can look up only names that a rule can have.
 */
#include "host_name.h"

#include <errno.h>
#include <string.h>

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

/* Returns whether the label is decimal, octal or hexadecimal: "10", "017", "0x7f", "0x". */
static bool is_number(const char *label)
{
	if (label[0] == '0' && label[1] == 'x')
		return !label[2 + strspn(label + 2, "0123456789abcdef")];
	return !label[strspn(label, "0123456789")];
}

static int check(const char *name, size_t len)
{
	size_t label = 0;
	int r = 0;

	for (size_t i = 0; i < len && r != -EILSEQ; i++) {
		if ((unsigned char)name[i] > 127)
			r = -EILSEQ;
		else if (name[i] == '.' ? !label : !is_label_char(name[i]))
			r = -EINVAL;
		label = name[i] == '.' ? 0 : label + 1;
		if (label > HOST_LABEL_MAX_LEN && !r)
			r = -ENAMETOOLONG;
	}
	return r || label ? r : -EINVAL;
}

int host_name_read(const char *text, size_t len, char ret[HOST_NAME_MAX_LEN + 1])
{
	char name[HOST_NAME_MAX_LEN + 1];
	const char *last;
	int r;

	if (len && text[len - 1] == '.')
		len--;
	if (len > HOST_NAME_MAX_LEN)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < len; i++)
		name[i] = lower(text[i]);
	name[len] = '\0';
	r = check(name, len);
	if (r < 0)
		return r;
	last = strrchr(name, '.');
	if (is_number(last ? last + 1 : name))
		return -EINVAL;
	memcpy(ret, name, len + 1);
	return 0;
}

bool host_name_is_below(const char *name, const char *domain)
{
	size_t have = strlen(name), want = strlen(domain);

	return have > want + 1 && name[have - want - 1] == '.' &&
	       !strcmp(name + have - want, domain);
}

bool host_name_is_local(const char *name)
{
	return !strcmp(name, "localhost") || host_name_is_below(name, "localhost");
}
