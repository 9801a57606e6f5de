/* SPDX-License-Identifier: Apache-2.0 */
/* Parses warm.json, lock.json and recipe.json of an environment. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "env.h"
#include "environment.h"
#include "json.h"
#include "layout/base/utf8.h"
#include "limits.h"

#define DEPTH 32 /* a recipe may hold a package-lock.json */
#define WORD_MAX 256 /* most bytes of a module, a package's name, a version */

/* Returns whether the string is at most max bytes, without characters that a
 * name or a terminal's line may not have. */
static bool is_plain(const json_t *value, size_t max)
{
	const char *text = json_string_value(value);
	size_t len = text ? json_string_length(value) : 0;

	if (!text || !len || len > max)
		return false;
	for (size_t i = 0; i < len; i++)
		if (utf8_is_control(text + i))
			return false;
	return true;
}

/* Parses text as an object. file: its name in the sentence. */
static int read_object(const char *file, const char *text, size_t len,
		       json_t **ret, struct err *err)
{
	int r = json_read(text, len, DEPTH, NULL, ret, err);

	if (r < 0) {
		err_wrap(err, "%s", file);
		return r == -ENOMEM ? r : -EINVAL;
	}
	return json_is_object(*ret) ? 0 : err_set(err, -EINVAL,
						  "%s: it is no object", file);
}

/* --- warm.json -------------------------------------------------------------- */

static int wrong(const char *file, const char *key, const char *must,
		 struct err *err)
{
	return err_set(err, -EINVAL, "%s: \"%s\" must be %s", file, key, must);
}

static int read_modules(const json_t *root, const char *key,
			const char *prefix, struct buf *out, struct err *err)
{
	const json_t *list = json_object_get(root, key);

	if (list && !json_is_array(list))
		return wrong("warm.json", key, "a list of names", err);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *name = json_array_get(list, i);

		if (!is_plain(name, WORD_MAX))
			return wrong("warm.json", key, "a list of names", err);
		buf_fmt(out, "%s%s%s", out->len ? ", " : "", prefix,
			json_string_value(name));
	}
	return 0;
}

static int read_at_start(const json_t *root, struct buf *out, struct err *err)
{
	const json_t *list = json_object_get(root, "env_at_start");

	if (list && !json_is_array(list))
		return wrong("warm.json", "env_at_start", "a list of names",
			     err);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const char *name = json_string_value(item);
		size_t len = name ? json_string_length(item) : 0;
		bool star = len > 1 && name[len - 1] == '*';

		if (!name || !env_name_ok(name, len - star))
			return wrong("warm.json", "env_at_start",
				     "a list of names of variables, "
				     "a * may end each", err);
		buf_fmt(out, "%s%s", out->len ? " " : "", name);
	}
	return 0;
}

static int read_env(const json_t *root, struct environment_warm *w,
		    struct err *err)
{
	json_t *env = json_object_get(root, "env"), *value;
	const char *key;

	if (!env)
		return 0;
	if (!json_is_object(env) || json_object_size(env) > LIMIT_ENV)
		return wrong("warm.json", "env", "an object of at most 256 "
			     "variables", err);
	json_object_foreach (env, key, value) {
		const char *text = json_string_value(value);
		size_t len = text ? json_string_length(value) : 0;

		if (!text || !env_name_ok(key, strlen(key)) ||
		    strlen(text) != len || env_value_span(text, len) != len)
			return wrong("warm.json", "env", "variables with texts",
				     err);
		buf_fmt(&w->env, "%s=", key);
		buf_add(&w->env, text, len + 1);
		w->env_count++;
	}
	if (w->env.len > LIMIT_ENV_BYTES)
		return wrong("warm.json", "env", "at most 128 KiB", err);
	return 0;
}

int environment_warm_read(const char *text, size_t len,
			  struct environment_warm *ret, struct err *err)
{
	auto_json json_t *root = NULL;
	const json_t *program;
	int r;

	*ret = (struct environment_warm){ 0 };
	r = read_object("warm.json", text, len, &root, err);
	if (r == 0)
		r = read_modules(root, "python", "", &ret->modules, err);
	if (r == 0)
		r = read_modules(root, "node", "npm:", &ret->modules, err);
	if (r == 0)
		r = read_at_start(root, &ret->at_start, err);
	if (r == 0)
		r = read_env(root, ret, err);
	if (r < 0)
		return r;
	program = json_object_get(root, "program");
	if (program && !json_is_string(program))
		return wrong("warm.json", "program", "a text", err);
	ret->program = program && json_string_length(program);
	if (ret->env.failed || ret->at_start.failed || ret->modules.failed)
		return err_sys(err, -ENOMEM, "warm.json");
	return 0;
}

void environment_warm_done(struct environment_warm *w)
{
	buf_done(&w->env);
	buf_done(&w->at_start);
	buf_done(&w->modules);
}

/* --- lock.json -------------------------------------------------------------- */

static bool is_source(const char *text)
{
	static const char *const sources[] = { "debian", "pypi", "npm" };

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (text && !strcmp(text, sources[i]))
			return true;
	return false;
}

static bool is_sum(const char *text)
{
	return text && strlen(text) == 64 &&
	       strspn(text, "0123456789abcdef") == 64;
}

/* Returns the member; NULL: it is no plain text. */
static const char *word(const json_t *object, const char *key, size_t max)
{
	const json_t *value = json_object_get(object, key);

	return is_plain(value, max) ? json_string_value(value) : NULL;
}

static int read_package(const json_t *item, struct environment_package *ret)
{
	*ret = (struct environment_package){
		.source = word(item, "source", WORD_MAX),
		.name = word(item, "name", WORD_MAX),
		.version = word(item, "version", WORD_MAX),
		.file = word(item, "file", LIMIT_FILE_NAME),
		.sum = word(item, "sha256", WORD_MAX),
		.licence = word(item, "licence", 4096),
	};
	ret->at = word(item, "at", 4096);
	if (!ret->licence)
		ret->licence = "";
	if (!ret->at)
		ret->at = "";
	return is_source(ret->source) && ret->name && ret->version &&
			       ret->file && !strchr(ret->file, '/') &&
			       ret->file[0] != '.' && is_sum(ret->sum)
		       ? 0 : -EINVAL;
}

int environment_lock_read(const char *text, size_t len,
			  environment_package_fn fn, void *arg,
			  struct err *err)
{
	auto_json json_t *root = NULL;
	const json_t *list;
	int r = read_object("lock.json", text, len, &root, err);

	if (r < 0)
		return r;
	list = json_object_get(root, "packages");
	if (!json_is_array(list) || json_array_size(list) > 65536)
		return wrong("lock.json", "packages",
			     "a list of at most 65536 packages", err);
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct environment_package p;

		if (read_package(json_array_get(list, i), &p) < 0)
			return err_set(err, -EINVAL, "lock.json: package %zu "
				       "must have source, name, version, file "
				       "and sha256", i + 1);
		r = fn ? fn(arg, &p) : 0;
		if (r < 0)
			return r;
	}
	return (int)json_array_size(list);
}

/* --- recipe.json ------------------------------------------------------------ */

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
	      "@%+=:,./_-"

/* Returns whether the text is UTF-8 without control characters. */
static bool is_readable(const char *text)
{
	size_t len = strlen(text);

	for (size_t at = 0; at < len;) {
		int step = utf8_step(text + at, len - at);

		if (step <= 0 || utf8_is_control(text + at))
			return false;
		at += (size_t)step;
	}
	return true;
}

/* Quotes as bash's $'...': every byte that is not plain is written as its
 * number. */
static void quote_bytes(const char *text, struct buf *out)
{
	buf_str(out, " $'");
	for (; *text; text++)
		if (strchr(PLAIN " ", *text))
			buf_add(out, text, 1);
		else
			buf_fmt(out, "\\x%02x", (unsigned char)*text);
	buf_str(out, "'");
}

void environment_quote(const char *text, struct buf *out)
{
	if (text[0] && !text[strspn(text, PLAIN)]) {
		buf_fmt(out, " %s", text);
		return;
	}
	if (!is_readable(text)) {
		quote_bytes(text, out);
		return;
	}
	buf_str(out, " '");
	for (; *text; text++)
		if (*text == '\'')
			buf_str(out, "'\\''");
		else
			buf_add(out, text, 1);
	buf_str(out, "'");
}

int environment_recipe_read(const char *text, size_t len, struct buf *out,
			    struct err *err)
{
	auto_json json_t *root = NULL;
	const json_t *list;
	int r = read_object("recipe.json", text, len, &root, err);

	if (r < 0)
		return r;
	list = json_object_get(root, "arguments");
	if (!json_is_array(list))
		return wrong("recipe.json", "arguments", "a list of texts",
			     err);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		if (!is_plain(item, LIMIT_ARGS_BYTES))
			return wrong("recipe.json", "arguments",
				     "a list of texts of one line", err);
		environment_quote(json_string_value(item), out);
	}
	return out->failed ? err_sys(err, -ENOMEM, "recipe.json") : 0;
}

/* --- in a sentence ----------------------------------------------------------- */

const char *environment_shown(const char *text, char room[ENVIRONMENT_SHOWN_MAX])
{
	return json_shown(text, strlen(text), ENVIRONMENT_SHOWN_MAX - 4, room);
}
