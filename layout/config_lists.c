/* SPDX-License-Identifier: Apache-2.0 */
/* Setters of the keys of config.json that have several strings. Pure. */
#include "config_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/utf8.h"
#include "env.h"
#include "limits.h"
#include "tree.h"

static int strings_alloc(struct config_strings *strings, size_t count)
{
	strings->item = calloc(count + 1, sizeof(*strings->item));
	return strings->item ? 0 : -ENOMEM;
}

void config_strings_done(struct config_strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		free(strings->item[i]);
	free(strings->item);
	*strings = (struct config_strings){ 0 };
}

static char *list_of_bytes(const json_t *value, size_t *ret_len)
{
	size_t count = json_array_size(value), i;
	char *text = malloc(count + 1);
	json_t *item;

	errno = text ? EINVAL : ENOMEM;
	json_array_foreach(value, i, item) {
		/* 0 for what is no number */
		json_int_t byte = json_integer_value(item);

		if (!text || byte < 1 || byte > 255) {
			free(text);
			return NULL;
		}
		text[i] = (char)byte;
	}
	if (text)
		text[count] = '\0';
	*ret_len = count;
	return text;
}

char *config_bytes(const json_t *value, size_t *ret_len)
{
	if (json_is_array(value))
		return list_of_bytes(value, ret_len);
	*ret_len = json_string_length(value);
	errno = EINVAL;
	return config_text(value) ? strdup(config_text(value)) : NULL;
}

/* Reports why an entry of a list of strings is refused. */
static int wrong_entry(struct parse *p, const struct field *f, size_t i,
		       const json_t *item)
{
	char room[96];

	if (errno == ENOMEM)
		return config_no_memory(p);
	if (json_is_string(item))
		return err_set(p->err, -EINVAL,
			       "\"%s\"[%zu] contains a NUL character, "
			       "which it cannot hold", f->key, i);
	return err_set(p->err, -EINVAL,
		       "\"%s\"[%zu] is %s; it must be a string%s", f->key, i,
		       config_found(item, room), json_is_array(item) ?
		       ", or a list of its bytes, each from 1 to 255" : "");
}

/* Sets a list of strings without NUL. max: entries; LIMIT_ARGS_BYTES: bytes,
 * each string with its NUL. */
int config_set_strings(struct parse *p, const struct field *f, json_t *value)
{
	struct config_strings *strings = config_at(p, f);
	uint64_t bytes = 0;
	json_t *item;
	size_t i;

	if (!json_is_array(value))
		return config_wrong(p, f, value, "a list of strings");
	if (json_array_size(value) < f->min || json_array_size(value) > f->max)
		return err_set(p->err, -EINVAL,
			       "\"%s\" has %zu entries; %llu to %llu are "
			       "allowed", f->key, json_array_size(value),
			       (unsigned long long)f->min,
			       (unsigned long long)f->max);
	if (strings_alloc(strings, json_array_size(value)) < 0)
		return config_no_memory(p);
	json_array_foreach(value, i, item) {
		size_t len;

		strings->item[i] = config_bytes(item, &len);
		if (!strings->item[i])
			return wrong_entry(p, f, i, item);
		strings->count++;
		bytes += len + 1;
		if (bytes > LIMIT_ARGS_BYTES)
			return err_set(p->err, -EINVAL,
				       "\"%s\" has more than %llu bytes in all",
				       f->key,
				       (unsigned long long)LIMIT_ARGS_BYTES);
	}
	return 0;
}

int config_set_command(struct parse *p, const struct field *f, json_t *value)
{
	int r = config_set_strings(p, f, value);

	if (r < 0)
		return r;
	p->has_command = true;
	if (p->config->command.item[0][0])
		return 0;
	return err_set(p->err, -EINVAL,
		       "\"command\"[0] is empty; it must name a program");
}

static bool has_control(const char *text)
{
	while (*text && !utf8_is_control(text))
		text++;
	return *text;
}

/* Returns why path cannot be an input, or NULL. */
static const char *path_fault(const char *path)
{
	unsigned depth = 0;
	char name[LIMIT_FILE_NAME + 1];

	if (path[0] == '/')
		return "it must be relative to the job's directory";
	if (strlen(path) > LIMIT_PATH)
		return "it must be at most 4095 bytes long";
	for (;; path++) {
		size_t len = strcspn(path, "/");

		if (len > LIMIT_FILE_NAME)
			return "each name in it must be at most 255 bytes long";
		memcpy(name, path, len);
		name[len] = '\0';
		if (has_control(name))
			return "it must not contain control characters";
		if (file_name_check(name) < 0)
			return "it must have no empty, \".\" or \"..\" part";
		if (!depth && job_vfile_by_name(name))
			return "that is a file of the job tree itself, not an "
			       "input";
		if (++depth > LIMIT_DEPTH)
			return "it must be at most 64 names deep";
		path += len;
		if (!*path)
			return NULL;
	}
}

int config_set_inputs(struct parse *p, const struct field *f, json_t *value)
{
	const struct config_strings *inputs = &p->config->inputs;
	int r = config_set_strings(p, f, value);

	for (size_t i = 0; r == 0 && i < inputs->count; i++) {
		const char *fault = path_fault(inputs->item[i]);
		char room[96];

		if (fault)
			return err_set(p->err, -EINVAL,
				       "\"inputs\"[%zu] is %s; %s", i,
				       config_found(json_array_get(value, i), room),
				       fault);
	}
	return r;
}

/* Checks one variable of "env". *ret: its value, owned by the caller, also if
 * it is refused. */
static int check_variable(struct parse *p, const char *name, json_t *value,
			  char **ret)
{
	char room[96];
	auto_json json_t *quoted = json_string(name);
	const char *shown = quoted ? config_found(quoted, room) : "\"?\"";
	char text[96];
	size_t bad, len;

	snprintf(text, sizeof(text), "%s", shown);
	if (!env_name_ok(name, strlen(name)))
		return err_set(p->err, -EINVAL,
			       "\"env\" has the name %s; a name must be of "
			       "letters, digits and _, and not begin with a "
			       "digit", text);
	*ret = config_bytes(value, &len);
	if (!*ret && errno == ENOMEM)
		return config_no_memory(p);
	if (!*ret && !json_is_string(value))
		return err_set(p->err, -EINVAL,
			       "\"env\": %s is %s; it must be a string", text,
			       config_found(value, room));
	bad = *ret ? env_value_span(*ret, len) : strlen(json_string_value(value));
	if (*ret && bad == len)
		return 0;
	return err_set(p->err, -EINVAL,
		       "\"env\": %s has a control character (0x%02x); "
		       "a value must have none but TAB", text,
		       *ret ? (unsigned char)(*ret)[bad] : 0);
}

/* Refuses variables by which a loader, a shell or an interpreter would run
 * other code. A job of a session may set them: guest/run/step.c starts no
 * interpreter with them. */
int config_check_env(struct parse *p)
{
	const struct config_strings *env = &p->config->env;

	for (size_t i = 0; i < env->count && !p->config->session; i++) {
		const char *text = env->item[i];
		int length = (int)strcspn(text, "=");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", length, text);
		if (env_is_hijack(name))
			return err_set(p->err, -EINVAL,
				       "\"env\" sets \"%s\", which is refused: "
				       "it would change what the loader, the "
				       "shell or the interpreter runs",
				       name);
	}
	return 0;
}

int config_set_env(struct parse *p, const struct field *f, json_t *value)
{
	struct config_strings *env = &p->config->env;
	uint64_t bytes = 0;
	const char *name;
	json_t *item;
	int r;

	if (!json_is_object(value))
		return config_wrong(p, f, value, "an object of names and strings");
	if (json_object_size(value) > f->max)
		return err_set(p->err, -EINVAL,
			       "\"env\" has %zu names; at most %llu are allowed",
			       json_object_size(value),
			       (unsigned long long)f->max);
	if (strings_alloc(env, json_object_size(value)) < 0)
		return config_no_memory(p);
	json_object_foreach(value, name, item) {
		auto_free char *text = NULL;

		r = check_variable(p, name, item, &text);
		if (r < 0)
			return r;
		bytes += strlen(name) + strlen(text) + 2;
		if (bytes > LIMIT_ENV_BYTES)
			return err_set(p->err, -EINVAL,
				       "\"env\" has more than %llu bytes in "
				       "all", (unsigned long long)
					      LIMIT_ENV_BYTES);
		if (asprintf(&env->item[env->count], "%s=%s", name,
			     text) < 0) {
			env->item[env->count] = NULL;
			return config_no_memory(p);
		}
		env->count++;
	}
	return 0;
}
