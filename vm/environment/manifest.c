/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses manifests. Keeps the parts; passes each other line to the caller,
 * which knows the kind of manifest. Owns no state; any thread.
 */
#include "manifest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

bool manifest_is_sum(const char *text)
{
	return strlen(text) == SHA_HEX - 1 &&
	       strspn(text, "0123456789abcdef") == SHA_HEX - 1;
}

static bool is_name(const char *text)
{
	return text[0] && text[0] != '.' &&
	       strlen(text) < sizeof(((struct manifest_part *)0)->name) &&
	       !strchr(text, '/');
}

const struct manifest_part *manifest_part(const struct manifest_parts *parts,
					  const char *name)
{
	for (unsigned i = 0; i < parts->count; i++)
		if (!strcmp(parts->part[i].name, name))
			return &parts->part[i];
	return NULL;
}

static int take_part(struct manifest_parts *parts, char *value)
{
	struct manifest_part *p = &parts->part[parts->count];
	char *save = NULL, *name = strtok_r(value, " ", &save);
	const char *size = strtok_r(NULL, " ", &save);
	const char *sum = strtok_r(NULL, " ", &save);

	if (!name || !size || !sum || strtok_r(NULL, " ", &save) ||
	    parts->count == MANIFEST_PARTS_MAX || !is_name(name) ||
	    !manifest_is_sum(sum) || manifest_part(parts, name) ||
	    parse_u64(size, 0, INT64_MAX, &p->size) < 0)
		return -EINVAL;
	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->sum, sizeof(p->sum), "%s", sum);
	parts->count++;
	return 0;
}

int manifest_read(const char *text, size_t len, struct manifest_parts *ret,
		  manifest_line_fn fn, void *arg, const char *remedy,
		  struct err *err)
{
	auto_free char *copy = strndup(text, len);
	char *save = NULL;
	bool formatted = false;
	unsigned number = 0;

	*ret = (struct manifest_parts){ 0 };
	if (!copy)
		return err_sys(err, -ENOMEM, "manifest");
	for (char *key = strtok_r(copy, "\n", &save); key;
	     key = strtok_r(NULL, "\n", &save)) {
		char *value = strchrnul(key, ' ');
		int r = 0;

		number++;
		if (*value)
			*value++ = '\0';
		if (!strcmp(key, "part"))
			r = take_part(ret, value);
		else if (!strcmp(key, "format"))
			r = strcmp(value, "1") ? -EINVAL : 0;
		else
			r = fn(arg, key, value);
		if (r < 0)
			return err_set(err, -EINVAL,
				       "manifest: line %u is not understood; "
				       "%s", number, remedy);
		formatted |= !strcmp(key, "format");
	}
	if (!formatted)
		return err_set(err, -EINVAL, "manifest: no line format; %s",
			       remedy);
	return 0;
}
