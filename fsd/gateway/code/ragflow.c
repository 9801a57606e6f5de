/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to a run. RAGFlow parses the output of a run that failed as its
 * result, so a failure's stdout is empty. Pure: no thread, no state.
 */
#include "ragflow.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "fsd/gateway/base/errors.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/result.h"

#define ARTIFACTS_MAX 10u
#define ARTIFACT_BYTES (10u << 20)
#define TIMEOUT_CODE (-124)
#define MEMORY_CODE (-137)
#define OUTPUT_CODE (-1)
#define RUNNER_CODE (-3)

/* The members of an answer that differ from one kind of end to another. */
struct verdict {
	const char *status;
	json_int_t code;
	const char *resource, *runtime; /* members that name a kind, or NULL */
	char text[700];                 /* stderr; "": the program's own */
};

static bool status_is(const json_t *result, const char *status)
{
	const char *text = text_member(result, "status");

	return text && !strcmp(text, status);
}

static json_int_t number(const json_t *object, const char *outer,
			 const char *inner)
{
	return json_integer_value(json_object_get(
		outer ? json_object_get(object, outer) : object, inner));
}

/* Returns whether the last line of a traceback names MemoryError. */
static bool ends_in_memory_error(const char *text, size_t len)
{
	const char *line = text;

	while (len && text[len - 1] == '\n')
		len--;
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\n')
			line = text + i + 1;
	return !strncmp(line, "MemoryError", 11);
}

static const char *message_of(const struct run_end *end)
{
	const char *text = text_shown(end->result, "message");

	return text ? text : end->message ? end->message : "";
}

/* --- the end ------------------------------------------------------------ */

static void say_exited(const struct run_end *end, struct verdict *v)
{
	const char *message = message_of(end);
	json_int_t code = number(end->result, NULL, "exit_code");

	if (number(end->result, "stdout", "dropped") ||
	    number(end->result, "stderr", "dropped")) {
		*v = (struct verdict){ "resource_limit_exceeded", OUTPUT_CODE,
				       "output", NULL, "" };
		snprintf(v->text, sizeof(v->text), "Output limit exceeded: %s",
			 message);
	} else if (code) {
		bool memory = ends_in_memory_error(end->err, end->err_len);

		*v = (struct verdict){ memory ? "resource_limit_exceeded"
					      : "program_error", code,
				       memory ? "memory" : NULL,
				       memory ? NULL : "nonzero_exit", "" };
	} else if (strstr(message, "value was not kept")) {
		*v = (struct verdict){ "program_error", 1, NULL, NULL, "" };
		snprintf(v->text, sizeof(v->text), "%s", message);
	} else {
		*v = (struct verdict){ "success", 0, NULL, NULL, "" };
	}
}

static void say_signaled(const struct run_end *end, struct verdict *v)
{
	const char *name = text_member(end->result, "signal");

	*v = (struct verdict){ "runtime_error",
			       number(end->result, NULL, "exit_code"), NULL,
			       "signalled", "" };
	snprintf(v->text, sizeof(v->text), "The program was ended by %s",
		 name ? name : "a signal");
}

static void say_timeout(const struct run_end *end, struct verdict *v)
{
	*v = (struct verdict){ "resource_limit_exceeded", TIMEOUT_CODE, "time",
			       NULL, "" };
	snprintf(v->text, sizeof(v->text), "Execution timeout after %" PRIu64
		 " s", end->timeout_s);
}

static void say_memory(const struct run_end *end, struct verdict *v)
{
	*v = (struct verdict){ "resource_limit_exceeded", MEMORY_CODE, "memory",
			       NULL, "" };
	snprintf(v->text, sizeof(v->text), "Memory limit of %" PRIu64
		 " MiB exceeded", end->memory_mb);
}

static const struct {
	const char *status;
	void (*say)(const struct run_end *end, struct verdict *v);
} ends[] = {
	{ "exited", say_exited },
	{ "signaled", say_signaled },
	{ "timeout", say_timeout },
	{ "out_of_memory", say_memory },
};

static struct verdict verdict_of(const struct run_end *end)
{
	struct verdict v = { "program_runner_error", RUNNER_CODE, NULL, NULL,
			     "" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (status_is(end->result, ends[i].status)) {
			ends[i].say(end, &v);
			return v;
		}
	snprintf(v.text, sizeof(v.text), "%s", *message_of(end)
		 ? message_of(end) : "the appliance lost the run");
	return v;
}

/* --- the files it made -------------------------------------------------- */

static bool is_wanted(const char *path)
{
	static const char *const endings[] = { ".png", ".jpg", ".jpeg", ".svg",
					       ".pdf", ".csv", ".json",
					       ".html" };
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(endings); i++)
		if (!strcasecmp(dot, endings[i]))
			return true;
	return false;
}

static void add_artifact(const struct run_end *end, json_t *list,
			 const char *path, struct buf *detail)
{
	auto_buf struct buf bytes = { .cap = ARTIFACT_BYTES };
	auto_buf struct buf coded = { .cap = 2 * ARTIFACT_BYTES };
	const char *name = path + sizeof(RUN_ARTIFACTS);

	if (json_array_size(list) == ARTIFACTS_MAX) {
		buf_fmt(detail, "%s is left out: at most %u files are "
			"given; ", name, ARTIFACTS_MAX);
	} else if (end->read(end->arg, path, &bytes) < 0) {
		buf_fmt(detail, "%s is left out: it cannot be read, or is "
			"longer than 10 MiB; ", name);
	} else {
		text_base64(&coded, bytes.data, bytes.len, false);
		json_array_append_new(list, json_pack(
			"{s:s, s:s, s:I, s:s}", "name", name, "mime_type",
			mime_by_name(path), "size", (json_int_t)bytes.len,
			"content_b64", coded.data ? coded.data : ""));
	}
}

static json_t *artifacts_of(const struct run_end *end, struct buf *detail)
{
	json_t *list = json_array(), *entry;
	size_t i;

	json_array_foreach(json_object_get(end->result, "output"), i, entry) {
		const char *path = text_member(entry, "path");
		const char *mime = text_member(entry, "mime");

		if (!path || json_object_get(entry, "path_encoding") ||
		    strncmp(path, RUN_ARTIFACTS "/", sizeof(RUN_ARTIFACTS)) ||
		    (mime && !strncmp(mime, "inode/", 6)))
			continue;
		if (is_wanted(path))
			add_artifact(end, list, path, detail);
		else
			buf_fmt(detail, "%s is left out: its type is not one "
				"that is given; ", path + sizeof(RUN_ARTIFACTS));
	}
	return list;
}

/* --- the answer --------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *body(const struct verdict *v, json_t *out, json_t *err,
		    const json_t *result)
{
	return json_pack(
		"{s:s, s:o, s:o, s:I, s:n, s:I, s:I, s:o, s:n, s:o, s:[], s:n}",
		"status", v->status, "stdout", out, "stderr", err, "exit_code",
		v->code, "detail", "time_used_ms",
		number(result, "usage", "wall_ms"), "memory_used_kb",
		number(result, "usage", "peak_memory_bytes") / 1024,
		"resource_limit_type", text_or_null(v->resource),
		"unauthorized_access_type", "runtime_error_type",
		text_or_null(v->runtime), "artifacts", "result");
}

/* Returns the program's standard error, or the cause of its end. */
static json_t *stderr_of(const struct run_end *end, const struct verdict *v)
{
	const json_t *error = json_object_get(end->result, "error");
	const char *traceback = text_shown(error, "traceback");

	if (*v->text)
		return text_string(v->text, strlen(v->text));
	if (!end->err_len && v->code && traceback)
		return json_string(traceback);
	return text_string(end->err ? end->err : "", end->err_len);
}

json_t *run_answer(const struct run_end *end)
{
	struct verdict v = verdict_of(end);
	bool success = !strcmp(v.status, "success");
	auto_buf struct buf detail = { 0 };
	json_t *value = json_object_get(end->result, "value");
	json_t *all = body(&v, success ? text_string(end->out ? end->out : "",
						     end->out_len)
				       : json_string(""),
			   stderr_of(end, &v), end->result);

	if (!all || !success)
		return all;
	json_object_set_new(all, "result", json_pack(
		"{s:b, s:O, s:s}", "present", 1, "value",
		value ? value : json_null(), "type", "json"));
	json_object_set_new(all, "artifacts", artifacts_of(end, &detail));
	if (detail.len > 2)
		json_object_set_new(all, "detail", text_string(
			detail.data, detail.len - 2));
	return all;
}

json_t *run_refusal(int code, const char *sentence)
{
	struct verdict v = { "program_runner_error", surface_of(code)->run, NULL,
			     NULL, "" };

	if (!v.code)
		v.code = RUNNER_CODE;
	return body(&v, json_string(""),
		    text_string(sentence, strlen(sentence)), NULL);
}
