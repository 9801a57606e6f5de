/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks names of environments, and parses the text by which a job chooses one.
 * Pure.
 */
#include "environment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "lang.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define NAME_BYTES LETTERS "0123456789._-"

static bool name_is_plain(const char *name, size_t len)
{
	return len && len <= ENVIRONMENT_NAME_MAX &&
	       memchr(LETTERS, name[0], sizeof(LETTERS) - 1) &&
	       strspn(name, NAME_BYTES) >= len;
}

int environment_name_check(const char *name, struct err *err)
{
	char room[ENVIRONMENT_SHOWN_MAX];

	if (!name_is_plain(name, strlen(name)))
		return err_set(err, -EINVAL,
			       "%s is no name of an environment; it has "
			       "1 to %u characters of a-z, 0-9, \".\", \"_\" "
			       "and \"-\", the first a letter",
			       environment_shown(name, room),
			       ENVIRONMENT_NAME_MAX);
	if (!strcmp(name, ENVIRONMENT_BASE))
		return err_set(err, -EINVAL,
			       "\"base\" is what every machine has; choose "
			       "another name");
	if (lang_by_name(name))
		return err_set(err, -EINVAL,
			       "\"%s\" is the name of a language; choose "
			       "another name", name);
	return 0;
}

#define DIGEST_DIGITS 8

bool environment_name_owner(const char *name, uid_t *ret)
{
	const char *uid = name + strlen("p-") + DIGEST_DIGITS + 1;
	uint64_t n;

	if (strncmp(name, "p-", 2) != 0 ||
	    strspn(name + 2, "0123456789abcdef") != DIGEST_DIGITS ||
	    uid[-1] != '.' || uid[0] < '0' || uid[0] > '9' ||
	    parse_u64(uid, 0, UINT32_MAX, &n) < 0)
		return false;
	*ret = (uid_t)n;
	return true;
}

bool environment_name_is_for(const char *name, uid_t uid)
{
	uid_t owner;

	return !environment_name_owner(name, &owner) || owner == uid;
}

int environment_spec_parse(const char *text, struct environment_spec *ret,
			   struct err *err)
{
	size_t len = strcspn(text, "@"), digits;
	char room[ENVIRONMENT_SHOWN_MAX];

	*ret = (struct environment_spec){ 0 };
	if (name_is_plain(text, len))
		memcpy(ret->name, text, len);
	if (!text[len])
		return 0;
	digits = strlen(text + len + 1);
	if (digits < ENVIRONMENT_DIGITS_MIN ||
	    digits > ENVIRONMENT_DIGITS_MAX ||
	    strspn(text + len + 1, "0123456789abcdef") != digits)
		return err_set(err, -EINVAL,
			       "\"environment\" is %s; it must have %u "
			       "to %u digits of the id behind the @",
			       environment_shown(text, room),
			       ENVIRONMENT_DIGITS_MIN, ENVIRONMENT_DIGITS_MAX);
	if (!strcmp(ret->name, ENVIRONMENT_BASE))
		return err_set(err, -EINVAL,
			       "\"environment\" is %s; base has no id, "
			       "write \"base\"",
			       environment_shown(text, room));
	memcpy(ret->digits, text + len + 1, digits);
	return 0;
}
