/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges config.json of a file with the members that a command line gives.
 *
 * The member "input" is copied as text and not as a parsed value: its numbers may exceed
 * those of the JSON library. "env" is merged by variable. A file that is no JSON object
 * is copied unchanged, and the server reports the mistake.
 */
#include "config_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "json.h"
#include "layout/base/cleanup.h"
#include "limits.h"

/* Keeps the variables of the file that the command line does not set. */
static int keep_env(const json_t *file, json_t *over)
{
	json_t *old = json_object_get(file, "env");
	json_t *new = json_object_get(over, "env");

	if (!json_is_object(old) || !new)
		return 0;
	return json_object_update_missing(new, old);
}

/* Merges and prints. raw: "input" of the file, with its numbers as written.
 * Return: 0 or -1. */
static int merge(json_t *file, json_t *over, const struct json_raw *raw,
		 struct buf *out)
{
	auto_free char *text = NULL;

	if (raw->text && json_object_del(file, raw->key) < 0)
		return -1;
	if (keep_env(file, over) < 0 || json_object_update(file, over) < 0)
		return -1;
	text = json_dumps(file, JSON_COMPACT | JSON_PRESERVE_ORDER);
	if (!text)
		return -1;
	buf_add(out, text, strlen(text) - 1);
	if (raw->text) {
		buf_fmt(out, ",\"%s\":", raw->key);
		buf_add(out, raw->text, raw->len);
	}
	return buf_str(out, "}\n");
}

int config_merge(const char *file, size_t file_len, const char *over,
		 size_t over_len, struct buf *out)
{
	struct json_raw raw = { .key = "input" };
	auto_json json_t *old = NULL, *new = NULL;

	if (json_read(over, over_len, LIMIT_CONFIG_DEPTH, NULL, &new, NULL) < 0)
		return -ENOMEM;
	if (file_len >= 3 && !memcmp(file, "\xef\xbb\xbf", 3)) {
		file += 3; /* skip a byte order mark */
		file_len -= 3;
	}
	if (!file_len || config_is_empty(file, file_len))
		return buf_add(out, over, over_len);
	if (!json_object_size(new) ||
	    json_read(file, file_len, LIMIT_CONFIG_DEPTH, &raw, &old, NULL) < 0 ||
	    !json_is_object(old))
		return buf_add(out, file, file_len);
	return merge(old, new, &raw, out) < 0 ? -ENOMEM : 0;
}
