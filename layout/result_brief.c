/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the members of result.json that `fsd run` and other clients print.
 *
 * Texts come from the guest, so control characters are escaped before they reach a
 * terminal. The program's value is copied as text, since its numbers may be too large
 * for the JSON library. The caller owns the buffers of a struct result_brief.
 */
#include "result_brief.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "json.h"
#include "lang.h"
#include "limits.h"

/* levels of a result, with the program's value in it */
#define DEPTH (LIMIT_VALUE_DEPTH + 8)

static uint64_t number(const json_t *object, const char *key)
{
	const json_t *n = json_object_get(object, key);

	return json_is_integer(n) && json_integer_value(n) > 0
		       ? (uint64_t)json_integer_value(n)
		       : 0;
}

static const char *text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

/* Reads output_left_out. Names are the guest's: remove what a terminal would
 * obey. */
static void read_left_out(const json_t *list, struct result_brief *b)
{
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count && i < RESULT_LEFT_OUT_SAID; i++) {
		const json_t *file = json_array_get(list, i);

		utf8_put_plain(&b->left_out, text(file, "path"));
		buf_fmt(&b->left_out, " (%llu bytes): ",
			(unsigned long long)number(file, "bytes"));
		utf8_put_plain(&b->left_out, text(file, "reason"));
		buf_str(&b->left_out, "\n");
		b->left_out_count++;
	}
}

static void read_values(const json_t *root, const struct json_raw *value,
			struct result_brief *b)
{
	const json_t *shown = json_object_get(root, "text");

	if (json_is_string(shown))
		buf_add(&b->text, json_string_value(shown),
			json_string_length(shown));
	if (value->text)
		json_compact(&b->value, value->text, value->len);
	if (b->value.len == 4 && !memcmp(b->value.data, "null", 4))
		b->value.len = 0;
}

/* Reads the traceback; a value that is not an error has none. */
static void read_error(const json_t *error, struct buf *ret)
{
	const char *traceback = text(error, "traceback");

	if (*traceback)
		buf_str(ret, traceback);
	else if (json_is_object(error))
		buf_fmt(ret, "%s: %s", text(error, "name"), text(error, "value"));
	if (ret->len && ret->data[ret->len - 1] != '\n')
		buf_str(ret, "\n");
}

/* Reads why no warm interpreter with the environment's modules was used. A
 * shell has none. */
static void read_fresh(const json_t *root, struct result_brief *b)
{
	const json_t *e = json_object_get(root, "environment");
	const struct lang *lang = lang_by_name(text(root, "language"));

	if (!json_is_false(json_object_get(e, "warm")) ||
	    (lang && !lang->imports) || !*text(e, "why"))
		return;
	snprintf(b->environment, sizeof(b->environment), "%s", text(e, "name"));
	utf8_put_plain(&b->fresh_why, text(e, "why"));
}

int result_brief_read(const char *data, size_t len, struct result_brief *ret)
{
	auto_json json_t *root = NULL;
	/* The value's numbers may be too large for the library. */
	struct json_raw value = { .key = "value" };
	int r = json_read(data, len, DEPTH, &value, &root, NULL);

	*ret = (struct result_brief){ 0 };
	if (r == -ENOMEM)
		return r;
	if (r < 0 || !json_is_object(root))
		return -EINVAL;
	snprintf(ret->status, sizeof(ret->status), "%s", text(root, "status"));
	utf8_put_plain(&ret->message, text(root, "message"));
	ret->stdin_read = number(json_object_get(root, "stdin"), "read");
	ret->stdout_dropped = number(json_object_get(root, "stdout"), "dropped");
	ret->stderr_dropped = number(json_object_get(root, "stderr"), "dropped");
	ret->output_dropped = number(root, "output_dropped");
	ret->output_count = json_array_size(json_object_get(root, "output"));
	ret->run_ms = number(json_object_get(root, "timing"), "run_ms");
	read_fresh(root, ret);
	read_left_out(json_object_get(root, "output_left_out"), ret);
	snprintf(ret->session, sizeof(ret->session), "%s", text(root, "session"));
	snprintf(ret->session_state, sizeof(ret->session_state), "%s",
		 text(root, "session_state"));
	read_values(root, &value, ret);
	read_error(json_object_get(root, "error"), &ret->error);
	return ret->message.failed || ret->left_out.failed || ret->error.failed ||
	       ret->text.failed || ret->value.failed ? -ENOMEM : 0;
}

/* Decodes a path of a result, with its %XX. */
static void read_path(const json_t *file, struct buf *ret)
{
	const char *path = text(file, "path");
	bool escaped = !strcmp(text(file, "path_encoding"), "percent");
	unsigned byte;

	while (*path) {
		bool code = escaped && sscanf(path, "%%%2x", &byte) == 1;
		char ch = code ? (char)byte : *path;

		buf_add(ret, &ch, 1);
		path += code ? 3 : 1;
	}
}

/* Returns whether path is dir, or is in it. */
static bool has(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

bool result_leaves_out(const char *data, size_t len, const char *path)
{
	auto_json json_t *root = NULL;
	struct json_raw value = { .key = "value" };
	bool found = json_read(data, len, DEPTH, &value, &root, NULL) < 0;
	const json_t *list = json_object_get(root, "output_left_out");
	size_t count = json_array_size(list);

	found |= number(root, "output_dropped") > count;
	for (size_t i = 0; i < count && !found; i++) {
		auto_buf struct buf other = { 0 };

		read_path(json_array_get(list, i), &other);
		found = other.failed || !other.len || has(path, other.data) ||
			has(other.data, path);
	}
	return found;
}

bool result_is_cells(const char *config, size_t len)
{
	auto_json json_t *root = NULL;

	return json_read(config, len, DEPTH, NULL, &root, NULL) == 0 &&
	       !strcmp(text(root, "mode"), "cell");
}

void result_brief_done(struct result_brief *b)
{
	buf_done(&b->message);
	buf_done(&b->fresh_why);
	buf_done(&b->left_out);
	buf_done(&b->text);
	buf_done(&b->value);
	buf_done(&b->error);
}
