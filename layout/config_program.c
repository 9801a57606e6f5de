/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setters of the keys that say what runs (the program's text, the function to
 * call) and where (session, sandbox, directory). Pure.
 */
#include "config_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/dots.h"
#include "layout/base/utf8.h"
#include "limits.h"
#include "tree.h"

int config_set_call(struct parse *p, const struct field *f, json_t *value)
{
	const char *text = config_text(value);
	size_t len = text ? strlen(text) : 0;
	char *copy;

	if (!text || !len || len > f->max)
		return config_wrong(p, f, value,
			     "a function's name of 1 to %llu bytes",
			     (unsigned long long)f->max);
	for (size_t at = 0; at < len;
	     at += (size_t)utf8_step(text + at, len - at))
		if (utf8_is_control(text + at))
			return config_wrong(p, f, value,
				     "a function's name without control "
				     "characters");
	copy = strdup(text);
	if (!copy)
		return config_no_memory(p);
	free(p->config->call);
	p->config->call = copy;
	p->has_call = true;
	return 0;
}

/* Checks and sets the name of a session or a sandbox. */
static int set_name(struct parse *p, const struct field *f, json_t *value,
		    const char *whose, char **ret)
{
	const char *text = config_text(value);
	char *copy;

	if (!text || job_name_check(text) < 0 || job_name_is_draft(text))
		return config_wrong(p, f, value,
				    "a %s's name: 1 to %u bytes without "
				    "\"/\" and control characters that do not "
				    "begin with \".\"", whose, LIMIT_JOB_NAME);
	copy = strdup(text);
	if (!copy)
		return config_no_memory(p);
	*ret = copy;
	return 0;
}

int config_set_session(struct parse *p, const struct field *f, json_t *value)
{
	return set_name(p, f, value, "session", &p->config->session);
}

int config_set_sandbox(struct parse *p, const struct field *f, json_t *value)
{
	return set_name(p, f, value, "sandbox", &p->config->sandbox);
}

/* Checks only the form: the machine checks whether the directory exists. */
int config_set_cwd(struct parse *p, const struct field *f, json_t *value)
{
	const char *text = config_text(value);

	if (!text || !*text || strlen(text) > f->max)
		return config_wrong(p, f, value,
				    "the path of a directory, of 1 to %llu "
				    "bytes", (unsigned long long)f->max);
	p->config->cwd = strdup(text);
	return p->config->cwd ? 0 : config_no_memory(p);
}

/* Checks only the form: the job's directory shows whether the file exists. */
int config_set_main(struct parse *p, const struct field *f, json_t *value)
{
	const char *text = config_text(value);

	if (!text || !*text || strlen(text) > f->max || strchr(text, '/') ||
	    is_dots(text) || !strcmp(text, "config.json") ||
	    !strcmp(text, "stdin"))
		return config_wrong(p, f, value,
				    "the name of a file in the job's directory");
	p->config->main = strdup(text);
	return p->config->main ? 0 : config_no_memory(p);
}

static bool is_blank(const char *text, size_t len)
{
	while (len && strchr(" \t\r\n\v\f", *text) && *text) {
		text++;
		len--;
	}
	return !len;
}

int config_set_code(struct parse *p, const struct field *f, json_t *value)
{
	static const char bom[] = "\xef\xbb\xbf";
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);

	if (!text)
		return config_wrong(p, f, value,
				    "a string, the program's text");
	if (len >= 3 && !memcmp(text, bom, 3)) {
		text += 3;
		len -= 3;
	}
	if (is_blank(text, len))
		return err_set(p->err, -EINVAL,
			       "\"code\" is empty; it must be the program's "
			       "text");
	p->config->code = malloc(len + 1);
	if (!p->config->code)
		return config_no_memory(p);
	memcpy(p->config->code, text, len + 1);
	p->config->code_len = len;
	return 0;
}

/* Bounds JSON that stays in config.json for its writer; the daemon does not use it. */
int config_set_kept(struct parse *p, const struct field *f, json_t *value)
{
	auto_free char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	if (!text)
		return config_no_memory(p);
	if (strlen(text) <= f->max)
		return 0;
	return err_set(p->err, -EINVAL,
		       "\"%s\" has %zu bytes of JSON; at most %llu are "
		       "allowed", f->key, strlen(text),
		       (unsigned long long)f->max);
}
