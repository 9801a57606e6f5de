/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result — reads a job's result.json for the bats files. jq compiles its own
 * library at each start, which takes 15 ms; most tests ask twice and want one
 * field.
 *
 *   result get FILE FILTER        what `jq -r FILTER FILE` prints
 *   result end JOB CODE STATUS    the job's directory tells the whole of this
 * end result exit JOB CODE          its exit code, in both places
 *
 * A FILTER of names, numbers and a `length` (.output[0].path, .attempts |
 * length) whose value is one line is read here. Every other one is left to jq.
 *
 * Exit status: 0, jq's, or 1 with a sentence on standard error.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One step of a filter, .name or [number], taken off *path. Return: false:
 * jq's. */
static bool step(const char **path, const json_t **value)
{
	const char *from = *path + 1, *end = from;
	char name[64];

	if (**path == '[') {
		char *after;
		unsigned long n =
			isdigit(*from) ? strtoul(from, &after, 10) : 0;

		if (!isdigit(*from) || *after != ']' || !json_is_array(*value))
			return false;
		*path = after + 1;
		*value = json_array_get(*value, n);
		return *value != NULL;
	}
	while (isalnum(*end) || *end == '_')
		end++;
	if (**path != '.' || end == from || isdigit(*from) ||
	    (size_t)(end - from) >= sizeof(name) || !json_is_object(*value))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(end - from), from);
	*path = end;
	*value = json_object_get(*value, name);
	return *value != NULL;
}

/* Return: false: that is for jq to print. */
static bool print(const json_t *v)
{
	if (json_is_string(v))
		return puts(json_string_value(v)) >= 0;
	if (json_is_integer(v))
		return printf("%" JSON_INTEGER_FORMAT "\n",
			      json_integer_value(v)) > 0;
	if (json_is_true(v) || json_is_false(v) || json_is_null(v))
		return puts(json_is_null(v)   ? "null"
			    : json_is_true(v) ? "true"
					      : "false") >= 0;
	if (json_is_array(v) && !json_array_size(v))
		return puts("[]") >= 0;
	return false;
}

static bool print_length(const json_t *v)
{
	if (!json_is_array(v) && !json_is_object(v))
		return false;
	return printf("%zu\n", json_is_array(v) ? json_array_size(v)
						: json_object_size(v)) > 0;
}

static int get(char **arg)
{
	const json_t *v = json_load_file(arg[0], 0, NULL);
	const char *path = arg[1];

	while (v && (*path == '.' || *path == '['))
		if (!step(&path, &v))
			v = NULL;
	if (v && path != arg[1] && !strcmp(path, " | length") &&
	    print_length(v))
		return 0;
	if (v && path != arg[1] && !*path && print(v))
		return 0;
	execlp("jq", "jq", "-r", arg[1], arg[0], (char *)NULL);
	fprintf(stderr, "result: jq: %s\n", strerror(errno));
	return 1;
}

static bool is_text(const char *job, const char *name, const char *want)
{
	char path[PATH_MAX], line[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", job, name);
	f = fopen(path, "re");
	if (!f) {
		fprintf(stderr, "result: %s: %s\n", path, strerror(errno));
		return false;
	}
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	line[strcspn(line, "\n")] = '\0';
	if (!strcmp(line, want))
		return true;
	fprintf(stderr, "result: %s is to be \"%s\", and is \"%s\"\n", path,
		want, line);
	return false;
}

/* A key may have a NUL, which jansson refuses. jq takes such a value out. */
static json_t *load_without_value(const char *path)
{
	char command[PATH_MAX + 40];
	json_t *all;
	FILE *f;

	snprintf(command, sizeof(command), "jq 'del(.value)' '%s'", path);
	f = popen(command, "re");
	all = f ? json_loadf(f, 0, NULL) : NULL;
	if (f)
		pclose(f);
	return all;
}

static json_t *load(const char *job)
{
	char path[PATH_MAX];
	json_error_t err;
	json_t *all;

	snprintf(path, sizeof(path), "%s/result.json", job);
	all = json_load_file(path, 0, &err);
	if (!all && json_error_code(&err) == json_error_null_byte_in_key)
		all = load_without_value(path);
	if (!all)
		fprintf(stderr, "result: %s: %s\n", path, err.text);
	return all;
}

static bool is_code(const char *job, const json_t *all, const char *want)
{
	const json_t *v = json_object_get(all, "exit_code");
	char text[32];

	snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
		 json_integer_value(v));
	if (json_is_integer(v) && !strcmp(text, want))
		return is_text(job, "exit_code", want);
	fprintf(stderr, "result: %s: exit_code is to be %s, and is %s\n", job,
		want, json_is_integer(v) ? text : "no number");
	return false;
}

static int exits(char **arg)
{
	json_t *all = load(arg[0]);

	return all && is_code(arg[0], all, arg[1]) ? 0 : 1;
}

static int end(char **arg)
{
	json_t *all;
	const char *status, *message;

	if (!is_text(arg[0], "state", "done"))
		return 1;
	all = load(arg[0]);
	status = json_string_value(json_object_get(all, "status"));
	message = json_string_value(json_object_get(all, "message"));
	if (!status || strcmp(status, arg[2])) {
		fprintf(stderr, "result: %s is to be %s, and is %s: %s\n",
			arg[0], arg[2], status ? status : "nothing",
			message ? message : "no message");
		return 1;
	}
	return is_code(arg[0], all, arg[1]) ? 0 : 1;
}

static const struct {
	const char *name;
	int count; /* of arguments */
	int (*fn)(char **arg);
} commands[] = {{"get", 2, get}, {"end", 3, end}, {"exit", 2, exits}};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (argc - 2 == commands[i].count &&
		    !strcmp(argv[1], commands[i].name))
			return commands[i].fn(argv + 2);
	fputs("result: get FILE FILTER, end JOB CODE STATUS or exit JOB CODE\n",
	      stderr);
	return 1;
}
