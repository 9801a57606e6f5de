/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses config.json. The table `fields` is the schema: one row for each key,
 * one setter for each type. Setters of lists are in config_lists.c, those of
 * program and place in config_program.c; config_relate.c checks keys against
 * each other. Pure.
 *
 * config_wrong() makes every sentence of refusal, so that they look alike:
 *   "timeout" is -3; it must be a number of seconds from 0.1 to 3600
 */
#include "config_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "layout/base/buf.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/base/utf8.h"
#include "limits.h"
#include "tree.h"

/* Returns the found value as a person would write it, cut to a readable length. */
const char *config_found(const json_t *value, char room[96])
{
	auto_free char *dump = NULL;

	if (json_is_object(value))
		return "an object";
	if (json_is_array(value))
		return "a list";
	if (json_is_string(value))
		return json_shown(json_string_value(value),
				  json_string_length(value), 60, room);
	dump = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	snprintf(room, 96, "%s", dump ? dump : "?");
	return room;
}

/* Reports a value that is not allowed: `"key" is VALUE; it must be ...`. */
int config_wrong(struct parse *p, const struct field *f, const json_t *value,
		 const char *fmt, ...)
{
	char room[96], must[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(must, sizeof(must), fmt, ap);
	va_end(ap);
	return err_set(p->err, -EINVAL, "\"%s\" is %s; it must be %s", f->key,
		       config_found(value, room), must);
}

int config_no_memory(struct parse *p)
{
	return err_set(p->err, -ENOMEM, "out of memory");
}

/* The text, or NULL if it is no string or has a NUL inside. */
const char *config_text(const json_t *value)
{
	const char *text = json_string_value(value);

	return text && strlen(text) == json_string_length(value) ? text : NULL;
}

void *config_at(struct parse *p, const struct field *f)
{
	return (char *)p->config + f->offset;
}

static uint64_t field_max(const struct parse *p, const struct field *f)
{
	if (f->max)
		return f->max;
	return *(const uint64_t *)(const void *)
		((const char *)p->limits + f->max_from);
}

int config_set_integer(struct parse *p, const struct field *f, json_t *value)
{
	uint64_t max = field_max(p, f);
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < 0 || (uint64_t)n < f->min ||
	    (uint64_t)n > max)
		return config_wrong(p, f, value, "an integer%s from %llu to %llu",
			     f->note, (unsigned long long)f->min,
			     (unsigned long long)max);
	*(uint64_t *)config_at(p, f) = (uint64_t)n;
	return 0;
}

static int set_priority(struct parse *p, const struct field *f, json_t *value)
{
	const json_int_t most = LIMIT_PRIORITY;
	json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < -most || n > most)
		return config_wrong(p, f, value, "an integer from -%u to %u",
				    LIMIT_PRIORITY, LIMIT_PRIORITY);
	p->config->priority = (int)n;
	return 0;
}

int config_set_seconds(struct parse *p, const struct field *f, json_t *value)
{
	uint64_t max = field_max(p, f);
	double s = json_number_value(value);

	if (!json_is_number(value) || s < (double)f->min / 1000 ||
	    s > (double)max / 1000)
		return config_wrong(p, f, value,
			     "a number of seconds from %.15g to %.15g",
			     (double)f->min / 1000, (double)max / 1000);
	*(uint64_t *)config_at(p, f) = (uint64_t)(s * 1000 + 0.5);
	return 0;
}

/* 0 means without end; config_relate() checks for which jobs. */
static int set_timeout(struct parse *p, const struct field *f, json_t *value)
{
	if (!json_is_number(value) || json_number_value(value) != 0)
		return config_set_seconds(p, f, value);
	p->config->timeout_ms = 0;
	return 0;
}

static int set_language(struct parse *p, const struct field *f, json_t *value)
{
	const char *name = config_text(value);
	const struct lang *lang = name ? lang_by_name(name) : NULL;

	if (!lang)
		return config_wrong(p, f, value, "one of %s", lang_names_text());
	p->config->lang = lang;
	return 0;
}

static int set_start(struct parse *p, const struct field *f, json_t *value)
{
	const char *text = config_text(value);

	if (!text || (strcmp(text, "auto") && strcmp(text, "manual")))
		return config_wrong(p, f, value, "\"auto\" or \"manual\"");
	p->config->manual = text[0] == 'm';
	return 0;
}

static int set_mode(struct parse *p, const struct field *f, json_t *value)
{
	static const char *const names[] = {
		[MODE_SCRIPT] = "script",
		[MODE_CALL] = "call",
		[MODE_COMMAND] = "command",
		[MODE_CELL] = "cell",
	};
	const char *text = config_text(value);

	_Static_assert(ARRAY_SIZE(names) == JOB_MODE_MAX, "a name per mode");
	for (size_t i = 0; text && i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], text)) {
			p->config->mode = (enum job_mode)i;
			return 0;
		}
	return config_wrong(p, f, value,
			    "\"script\", \"call\", \"cell\" or \"command\"");
}

static int set_stdin(struct parse *p, const struct field *f, json_t *value)
{
	size_t len = json_string_length(value);

	if (!json_is_string(value))
		return config_wrong(p, f, value, "a string");
	if (len > f->max)
		return err_set(p->err, -EINVAL,
			       "\"stdin\" has %zu bytes; at most %llu are "
			       "allowed here: write a file named stdin instead",
			       len, (unsigned long long)f->max);
	p->config->stdin_text = malloc(len + 1);
	if (!p->config->stdin_text)
		return config_no_memory(p);
	memcpy(p->config->stdin_text, json_string_value(value), len + 1);
	p->config->stdin_len = len;
	return 0;
}

int config_set_memory(struct parse *p, const struct field *f, json_t *value)
{
	int r = config_set_integer(p, f, value);

	p->config->memory_given = r == 0;
	return r;
}

static int set_stdin_open(struct parse *p, const struct field *f, json_t *value)
{
	if (!json_is_boolean(value))
		return config_wrong(p, f, value, "true or false");
	p->config->stdin_open = json_is_true(value);
	return 0;
}

static int set_input(struct parse *p, const struct field *f, json_t *value)
{
	auto_buf struct buf text = { .cap = LIMIT_CONFIG_BYTES * 8 };

	(void)f;
	if (p->input.text) {
		json_compact(&text, p->input.text, p->input.len);
	} else { /* if the key has escapes, its text was not found */
		auto_free char *dump =
			json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

		buf_str(&text, dump ? dump : "");
	}
	if (text.failed || !text.len)
		return config_no_memory(p);
	p->config->input_len = text.len;
	p->config->input_json = take_ptr(text.data);
	return 0;
}

#define CONFIG(member) offsetof(struct job_config, member)
#define OPERATOR(member) offsetof(struct config_limits, member)

static const struct field fields[] = {
	{ "language", set_language, 0, 0, 0, 0, NULL },
	{ "args", config_set_strings, CONFIG(args), 0, LIMIT_ARGS, 0, NULL },
	{ "env", config_set_env, CONFIG(env), 0, LIMIT_ENV, 0, NULL },
	{ "stdin", set_stdin, 0, 0, LIMIT_STDIN_TEXT, 0, NULL },
	{ "stdin_open", set_stdin_open, 0, 0, 0, 0, NULL },
	{ "timeout", set_timeout, CONFIG(timeout_ms), LIMIT_TIMEOUT_MIN_MS, 0,
	  OPERATOR(timeout_ms), NULL },
	{ "grace", config_set_seconds, CONFIG(grace_ms), 0, LIMIT_GRACE_MS, 0, NULL },
	{ "linger", config_set_seconds, CONFIG(linger_ms), 0, LIMIT_LINGER_MS, 0,
	  NULL },
	{ "memory_mb", config_set_memory, CONFIG(memory_mb), LIMIT_MEMORY_MIN_MB, 0,
	  OPERATOR(memory_mb), " of MiB" },
	{ "cpus", config_set_integer, CONFIG(cpus), 1, 0, OPERATOR(cpus), "" },
	{ "processes", config_set_integer, CONFIG(processes), 1, LIMIT_PROCESSES, 0,
	  "" },
	{ "stdout_limit", config_set_integer, CONFIG(stdout_limit), 0,
	  LIMIT_STREAM_BYTES, 0, " of bytes" },
	{ "stderr_limit", config_set_integer, CONFIG(stderr_limit), 0,
	  LIMIT_STREAM_BYTES, 0, " of bytes" },
	{ "output_limit", config_set_integer, CONFIG(output_limit), 0,
	  LIMIT_STREAM_BYTES, 0, " of bytes" },
	{ "inputs", config_set_inputs, CONFIG(inputs), 0, LIMIT_ARGS, 0, NULL },
	{ "start", set_start, 0, 0, 0, 0, NULL },
	{ "retry", config_set_integer, CONFIG(retry), 0, LIMIT_RETRY, 0, "" },
	{ "retain", config_set_integer, CONFIG(retain_s), 1, LIMIT_RETAIN_S, 0,
	  " of seconds" },
	{ "input", set_input, 0, 0, 0, 0, NULL },
	{ "mode", set_mode, 0, 0, 0, 0, NULL },
	{ "call", config_set_call, 0, 1, LIMIT_FILE_NAME, 0, NULL },
	{ "command", config_set_command, CONFIG(command), 1, LIMIT_ARGS, 0, NULL },
	{ "session", config_set_session, 0, 0, 0, 0, NULL },
	{ "session_idle", config_set_seconds, CONFIG(session_idle_ms),
	  LIMIT_SESSION_IDLE_MIN_MS, LIMIT_SESSION_IDLE_MS, 0, NULL },
	{ "sandbox", config_set_sandbox, 0, 0, 0, 0, NULL },
	{ "cwd", config_set_cwd, 0, 1, LIMIT_PATH, 0, NULL },
	{ "main", config_set_main, 0, 1, LIMIT_FILE_NAME, 0, NULL },
	{ "code", config_set_code, 0, 0, 0, 0, NULL },
	{ "note", config_set_kept, 0, 0, LIMIT_NOTE, 0, NULL },
	{ "priority", set_priority, 0, 0, 0, 0, NULL },
	{ "environment", config_set_environment, 0, 0, 0, 0, NULL },
	{ "warm", config_set_warm, 0, 0, 0, 0, NULL },
	{ "packages", config_set_packages, 0, 0, LIMIT_PACKAGES, 0, NULL },
	{ "network", config_set_network, 0, 0, 0, 0, NULL },
	{ "ports", config_set_ports, 0, LIMIT_PORT_MIN, LIMIT_PORT_MAX, 0, NULL },
	{ "retry_network", config_set_retry_network, 0, 0, 0, 0, NULL },
};

static const struct schema jobs_schema = {
	.fields = fields, .count = ARRAY_SIZE(fields),
	.relate = config_relate,
};

bool config_row(const struct schema *schema, unsigned i, struct config_key *ret)
{
	const struct field *f = &schema->fields[i];

	if (i >= schema->count)
		return false;
	*ret = (struct config_key){
		.name = f->key, .min = f->min, .max = f->max,
		.operators = !f->max && f->min,
	};
	return true;
}

bool config_key(unsigned i, struct config_key *ret)
{
	return config_row(&jobs_schema, i, ret);
}

/* Returns the number of single-letter edits from a to b, ignoring case; both at
 * most 32 bytes. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[33], n = (unsigned)strlen(b);

	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 0; a[i]; i++) {
		unsigned diagonal = row[0];

		row[0] = i + 1;
		for (unsigned j = 0; j < n; j++) {
			unsigned swap = diagonal +
					!!strncasecmp(a + i, b + j, 1);

			diagonal = row[j + 1];
			row[j + 1] = MIN(MIN(row[j], diagonal) + 1, swap);
		}
	}
	return row[n];
}

static bool is_near(const char *key, const char *field)
{
	size_t len = strlen(key);

	if (len > 32)
		return false;
	if (len >= 3 && (!strncasecmp(key, field, len) ||
			 !strncasecmp(key, field, strlen(field))))
		return true;
	return distance(key, field) <= (len < 5 ? 1 : 2);
}

static int unknown_key(struct parse *p, const char *key)
{
	auto_buf struct buf names = { .cap = 0 };
	auto_json json_t *quoted = json_string(key);
	char room[96];
	const struct field *row = p->schema->fields;
	bool near = false;

	for (int pass = 0; pass < 2 && !near; pass++)
		for (size_t i = 0; i < p->schema->count; i++) {
			if (pass == 0 && !is_near(key, row[i].key))
				continue;
			near = pass == 0;
			buf_fmt(&names, "%s\"%s\"", names.len ? ", " : "",
				row[i].key);
		}
	if (names.failed || !quoted)
		return config_no_memory(p);
	return err_set(p->err, -EINVAL, "%s is not a key; %s %s%s",
		       config_found(quoted, room), near ? "did you mean" : "allowed:",
		       names.data, near ? "?" : "");
}

static int set_member(struct parse *p, const char *key, json_t *value)
{
	for (size_t i = 0; i < p->schema->count; i++)
		if (!strcmp(p->schema->fields[i].key, key))
			return p->schema->fields[i].set(p, &p->schema->fields[i], value);
	return unknown_key(p, key);
}

int config_defaults(struct job_config *ret_config)
{
	struct job_config config = {
		.timeout_ms = DEFAULT_TIMEOUT_MS,
		.linger_ms = DEFAULT_LINGER_MS,
		.memory_mb = DEFAULT_MEMORY_MB,
		.cpus = 1,
		.processes = DEFAULT_PROCESSES,
		.stdout_limit = DEFAULT_STDOUT_LIMIT,
		.stderr_limit = DEFAULT_STDERR_LIMIT,
		.output_limit = DEFAULT_OUTPUT_LIMIT,
		.mode = MODE_SCRIPT,
		.session_idle_ms = DEFAULT_SESSION_IDLE_MS,
	};

	config.call = strdup("main");
	if (!config.call)
		return -ENOMEM;
	*ret_config = config;
	return 0;
}

void config_done(struct job_config *config)
{
	config_strings_done(&config->args);
	config_strings_done(&config->env);
	config_strings_done(&config->inputs);
	config_strings_done(&config->command);
	free(config->stdin_text);
	free(config->input_json);
	free(config->call);
	free(config->session);
	free(config->sandbox);
	free(config->cwd);
	free(config->main);
	free(config->code);
	free(config->environment);
	free(config->network_text);
	net_wish_done(&config->network);
	packages_done(&config->packages);
	*config = (struct job_config){ 0 };
}

static void skip_bom(const char **data, size_t *len)
{
	static const char bom[] = "\xef\xbb\xbf";

	if (*len < 3 || memcmp(*data, bom, 3) != 0)
		return;
	*data += 3;
	*len -= 3;
}

static const char *blank_end(const char *data, size_t len)
{
	const char *end = data + len;

	while (data < end && *data && strchr(" \t\r\n", *data))
		data++;
	return data;
}

bool config_is_empty(const char *data, size_t len)
{
	skip_bom(&data, &len);
	return blank_end(data, len) == data + len;
}

static int set_all(struct parse *p, json_t *root)
{
	struct job_config *c = p->config;
	const char *key;
	json_t *value;
	int r;

	if (!json_is_object(root)) {
		char room[96];

		return err_set(p->err, -EINVAL,
			       "it is %s; it must be an object, such as {}",
			       config_found(root, room));
	}
	/* a default may not exceed the operator's maximum */
	c->timeout_ms = MIN(c->timeout_ms, p->limits->timeout_ms);
	c->memory_mb = MIN(c->memory_mb, p->limits->memory_mb);
	json_object_foreach(root, key, value) {
		r = set_member(p, key, value);
		if (r < 0)
			return r;
	}
	return p->schema->relate(p, root);
}

/* For a text that ends too early: checks whether it can become an object at
 * all. */
static int check_beginning(struct parse *p, const char *data, size_t len)
{
	const char *first = blank_end(data, len);

	if (first == data + len || *first == '{')
		return -ENODATA;
	return err_set(p->err, -EINVAL,
		       "it begins with %c; it must be an object, such as {}",
		       *first);
}

int config_read(struct parse *p, const char *data, size_t len)
{
	auto_json json_t *root = NULL;
	int r;

	if (len > LIMIT_CONFIG_BYTES)
		return err_set(p->err, -EFBIG,
			       "it has %zu bytes; at most 1 MiB (%llu) is allowed",
			       len, (unsigned long long)LIMIT_CONFIG_BYTES);
	skip_bom(&data, &len);
	r = json_read(data, len, LIMIT_CONFIG_DEPTH, &p->input, &root, p->err);
	if (r == -ENODATA)
		r = check_beginning(p, data, len);
	return r < 0 ? r : set_all(p, root);
}

int config_parse(const char *data, size_t len,
		 const struct config_limits *limits,
		 struct job_config *ret_config, struct err *err)
{
	struct job_config config;
	struct err why = { .code = 0 };
	struct parse p = { .schema = &jobs_schema, .limits = limits,
			   .config = &config, .input = { .key = "input" },
			   .err = &why };
	int r = config_defaults(&config);

	if (r < 0)
		return err_set(err, r, "config.json: out of memory");
	r = config_read(&p, data, len);
	if (r < 0) {
		config_done(&config);
		return err_set(err, r, "config.json: %s", why.text);
	}
	*ret_config = config;
	return 0;
}
