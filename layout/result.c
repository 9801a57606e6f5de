/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders result.json, schema 1: one key a line, in the order of the manual.
 * Unknown values are null. Bytes of the guest are copied only after they were
 * parsed. Pure.
 */
#include "result.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "layout/base/utf8.h"
#include "json.h"
#include "limits.h"

/* The result that the guest sent, after it was checked. */
struct guest {
	json_t *root; /* owned; NULL: it cannot be used */
	struct json_raw value; /* the text as written */
	struct err fault; /* why it cannot be used; text "": it can */
};

void time_render(uint64_t realtime_ns, char room[32])
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	unsigned ms = (unsigned)(realtime_ns / 1000000 % 1000);
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(room, 32, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(room + n, 32 - n, ".%03uZ", ms);
}

static void key(struct buf *out, const char *name)
{
	buf_fmt(out, ",\n  \"%s\": ", name);
}

static void text_or_null(struct buf *out, const char *text)
{
	if (text)
		json_quote(out, text, strlen(text));
	else
		buf_str(out, "null");
}

static void put_text(struct buf *out, const char *name, const char *text)
{
	key(out, name);
	text_or_null(out, text);
}

static void time_or_null(struct buf *out, uint64_t ns)
{
	char room[32];

	time_render(ns, room);
	text_or_null(out, ns ? room : NULL);
}

static void put_time(struct buf *out, const char *name, uint64_t ns)
{
	key(out, name);
	time_or_null(out, ns);
}

static void number_or_null(struct buf *out, uint64_t n)
{
	if (n == RESULT_UNKNOWN)
		buf_str(out, "null");
	else
		buf_fmt(out, "%llu", (unsigned long long)n);
}

/* Puts a member of an object that stands on one line. first: without a comma
 * before it. */
static void put_number(struct buf *out, const char *name, uint64_t n,
		       bool first)
{
	buf_fmt(out, "%s\"%s\": ", first ? "" : ", ", name);
	number_or_null(out, n);
}

static void put_stream(struct buf *out, const char *name, uint64_t bytes,
		       uint64_t dropped)
{
	key(out, name);
	buf_str(out, "{");
	put_number(out, "bytes", bytes, true);
	put_number(out, "dropped", dropped, false);
	buf_str(out, "}");
}

static void put_escaped(struct buf *out, char byte)
{
	buf_fmt(out, "%%%02X", (unsigned)(unsigned char)byte);
}

/*
 * Puts a name. Readers of JSON refuse bytes that are not UTF-8. So each such
 * byte, and each "%", becomes %XX, and path_encoding says so; the bytes can be
 * restored.
 */
static void put_name(struct buf *out, const char *key, const char *path)
{
	auto_buf struct buf text = { .cap = 0 };
	size_t len = strlen(path);

	buf_fmt(out, "\"%s\": ", key);
	if (utf8_span(path, len) == len) {
		json_quote(out, path, len);
		return;
	}
	for (size_t at = 0; at < len;) {
		int step = utf8_step(path + at, len - at);

		if (step <= 0 || path[at] == '%')
			put_escaped(&text, path[at]);
		else
			buf_add(&text, path + at, (size_t)step);
		at += step <= 0 ? 1 : (size_t)step;
	}
	if (text.failed)
		out->failed = text.failed;
	else
		json_quote(out, text.data, text.len);
	buf_fmt(out, ", \"%s_encoding\": \"percent\"", key);
}

#define SHOWN_NAME 200 /* most bytes of a name */

void result_show_name(struct buf *out, const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < len;) {
		int step = utf8_step(name + at, len - at);
		size_t size = step <= 0 ? 1 : (size_t)step;
		bool plain = step > 0 && name[at] != '%' &&
			     !utf8_is_control(name + at);

		if (at + size > SHOWN_NAME) {
			buf_str(out, "...");
			return;
		}
		if (plain)
			buf_add(out, name + at, size);
		for (size_t i = 0; !plain && i < size; i++)
			put_escaped(out, name[at + i]);
		at += size;
	}
}

static void put_left_out(struct buf *out, const struct job_result *r)
{
	key(out, "output_left_out");
	buf_str(out, "[");
	for (unsigned i = 0; i < r->left_count && !out->failed; i++) {
		const struct result_left *f = &r->left[i];

		buf_str(out, i ? ",\n    " : "\n    ");
		buf_str(out, "{");
		put_name(out, "path", f->path);
		put_number(out, "bytes", f->bytes, false);
		buf_str(out, ", \"reason\": ");
		text_or_null(out, f->reason);
		buf_str(out, "}");
	}
	buf_str(out, r->left_count ? "\n  ]" : "]");
}

static void put_output(struct buf *out, const struct job_result *r)
{
	key(out, "output");
	buf_str(out, "[");
	for (unsigned i = 0; i < r->output_count && !out->failed; i++) {
		const struct result_file *f = &r->output[i];

		buf_str(out, i ? ",\n    " : "\n    ");
		buf_str(out, "{");
		put_name(out, "path", f->path);
		put_number(out, "bytes", f->bytes, false);
		buf_fmt(out, ", \"mode\": \"%04o\", \"mime\": \"%s\"",
			f->mode & 07777,
			f->is_dir ? "inode/directory"
			: f->target ? "inode/symlink"
				    : mime_by_name(f->path));
		if (f->target) {
			buf_str(out, ", ");
			put_name(out, "target", f->target);
		}
		buf_str(out, "}");
	}
	buf_str(out, r->output_count ? "\n  ]" : "]");
	key(out, "output_dropped");
	number_or_null(out, r->output_dropped);
	put_left_out(out, r);
}

/* Parses "value" and "error" of the guest's result. Return: 0, -ENOMEM. */
static int guest_read(const struct job_result *r, struct guest *g)
{
	int ret = 0;

	g->value.key = "value";
	if (!r->guest_json || !r->guest_len)
		return 0;
	if (r->guest_len > LIMIT_VALUE_BYTES)
		ret = err_set(&g->fault, -EFBIG, "it has %zu bytes; at most %llu "
			      "are kept", r->guest_len,
			      (unsigned long long)LIMIT_VALUE_BYTES);
	else
		ret = json_read(r->guest_json, r->guest_len, LIMIT_VALUE_DEPTH,
				&g->value, &g->root, &g->fault);
	if (!ret && !json_is_object(g->root))
		ret = err_set(&g->fault, -EINVAL, "it is not an object");
	if (!ret)
		return 0;
	json_decref(g->root);
	g->root = NULL;
	g->value.text = NULL;
	err_wrap(&g->fault, "the program's value was not kept");
	return ret == -ENOMEM ? ret : 0;
}

static void put_message(struct buf *out, const char *message,
			const char *fault)
{
	auto_buf struct buf both = { .cap = 0 };

	if (!*fault) {
		put_text(out, "message", message);
		return;
	}
	buf_fmt(&both, "%s%s%s", message ? message : "", message ? "; " : "",
		fault);
	put_text(out, "message", both.failed ? fault : both.data);
}

/* Returns whether path is a file of output/. */
static bool is_output(const struct job_result *r, const json_t *path)
{
	const char *text = json_string_value(path);

	if (strlen(text) != json_string_length(path))
		return false;
	for (unsigned i = 0; i < r->output_count; i++)
		if (!r->output[i].is_dir && !r->output[i].target &&
		    !strcmp(r->output[i].path, text))
			return true;
	return false;
}

/* Returns the number of the display that the item belongs to. */
static uint64_t bundle_of(const json_t *item)
{
	const json_t *bundle = json_object_get(item, "bundle");

	return json_is_integer(bundle) && json_integer_value(bundle) >= 0
		       ? (uint64_t)json_integer_value(bundle)
		       : RESULT_UNKNOWN;
}

/* Puts one rich result: a MIME type, and its content in one of three ways. */
static bool put_rich(struct buf *out, const struct job_result *r,
		     const json_t *item, bool first)
{
	static const char *const ways[] = { "data", "base64", "path" };
	const json_t *mime = json_object_get(item, "mime"), *what = NULL;
	const char *way = NULL;

	for (size_t i = 0; !what && i < ARRAY_SIZE(ways); i++) {
		way = ways[i];
		what = json_object_get(item, way);
	}
	if (!json_is_string(mime) || !what ||
	    (strcmp(way, "data") && !json_is_string(what)) ||
	    (!strcmp(way, "path") && !is_output(r, what)))
		return false;
	auto_free char *text = json_dumps(what, JSON_COMPACT | JSON_ENCODE_ANY);

	buf_fmt(out, "%s\n    {\"mime\": ", first ? "" : ",");
	json_quote(out, json_string_value(mime), json_string_length(mime));
	buf_fmt(out, ", \"%s\": %s", way, text ? text : "null");
	put_number(out, "bundle", bundle_of(item), false);
	buf_fmt(out, ", \"main\": %s}",
		json_is_true(json_object_get(item, "main")) ? "true" : "false");
	return true;
}

/* Puts a cell's value, as text and by MIME types. */
static void put_results(struct buf *out, const struct job_result *r,
			const struct guest *g)
{
	const json_t *text = g->root ? json_object_get(g->root, "text") : NULL;
	const json_t *results = g->root ? json_object_get(g->root, "results")
					: NULL;
	unsigned count = 0;

	key(out, "text");
	if (json_is_string(text))
		json_quote(out, json_string_value(text),
			   json_string_length(text));
	else
		buf_str(out, "null");
	key(out, "results");
	if (!json_is_array(results)) {
		buf_str(out, "null");
		return;
	}
	buf_str(out, "[");
	for (size_t i = 0; i < json_array_size(results) &&
			   count < LIMIT_RESULTS && !out->failed; i++)
		count += put_rich(out, r, json_array_get(results, i),
				  !count);
	buf_str(out, count ? "\n  ]" : "]");
}

static void put_value(struct buf *out, const struct job_result *r,
		      const struct guest *g)
{
	static const char *const parts[] = { "name", "value", "traceback" };
	const json_t *error = g->root ? json_object_get(g->root, "error")
				      : NULL;

	key(out, "value");
	if (g->value.text)
		json_compact(out, g->value.text, g->value.len);
	else
		buf_str(out, "null");
	put_results(out, r, g);
	key(out, "error");
	if (!json_is_object(error)) {
		buf_str(out, "null");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const json_t *part = json_object_get(error, parts[i]);

		buf_fmt(out, "%s\"%s\": ", i ? ", " : "{", parts[i]);
		if (json_is_string(part))
			json_quote(out, json_string_value(part),
				   json_string_length(part));
		else
			buf_str(out, "null");
	}
	buf_str(out, "}");
}

static void put_walls(struct buf *out, const char *const *walls)
{
	if (!walls) {
		buf_str(out, "null");
		return;
	}
	buf_str(out, "[");
	for (unsigned i = 0; walls[i]; i++) {
		buf_str(out, i ? ", " : "");
		text_or_null(out, walls[i]);
	}
	buf_str(out, "]");
}

static void put_figures(struct buf *out, const struct job_result *r)
{
	key(out, "usage");
	buf_str(out, "{");
	put_number(out, "wall_ms", r->wall_ms, true);
	put_number(out, "user_ms", r->user_ms, false);
	put_number(out, "system_ms", r->system_ms, false);
	put_number(out, "peak_memory_bytes", r->peak_memory_bytes, false);
	put_number(out, "peak_processes", r->peak_processes, false);
	buf_str(out, "}");
	key(out, "timing");
	buf_str(out, "{");
	put_number(out, "queued_ms", r->queued_ms, true);
	put_number(out, "machine_ms", r->machine_ms, false);
	put_number(out, "run_ms", r->run_ms, false);
	put_number(out, "collect_ms", r->collect_ms, false);
	put_number(out, "total_ms", r->total_ms, false);
	buf_str(out, "}");
	key(out, "machine");
	buf_str(out, "{\"source\": ");
	text_or_null(out, r->source);
	buf_str(out, ", \"accel\": ");
	text_or_null(out, r->accel);
	buf_str(out, ", \"template\": ");
	text_or_null(out, r->template_id);
	buf_str(out, ", \"missing_walls\": ");
	put_walls(out, r->missing_walls);
	buf_str(out, "}");
}

void result_connection_put(struct buf *out, const struct result_connection *c)
{
	buf_str(out, "{\"host\": ");
	text_or_null(out, c->host);
	put_number(out, "port", c->port ? c->port : RESULT_UNKNOWN, false);
	buf_str(out, ", \"address\": ");
	text_or_null(out, c->address);
	put_number(out, "sent", c->sent, false);
	put_number(out, "received", c->received, false);
	put_number(out, "ms", c->ms, false);
	buf_str(out, ", \"verdict\": ");
	text_or_null(out, c->verdict);
	buf_str(out, ", \"reason\": ");
	text_or_null(out, c->reason);
	buf_str(out, "}");
}

static void put_network(struct buf *out, const struct result_network *n)
{
	key(out, "network");
	if (!n) {
		buf_str(out, "null");
		return;
	}
	buf_str(out, "{");
	put_number(out, "sent", n->sent, true);
	put_number(out, "received", n->received, false);
	buf_str(out, ", \"connections\": [");
	for (unsigned i = 0; i < n->count && !out->failed; i++) {
		buf_str(out, i ? ",\n    " : "\n    ");
		result_connection_put(out, &n->connections[i]);
	}
	buf_str(out, n->count ? "\n  ]" : "]");
	put_number(out, "dropped", n->dropped, false);
	buf_str(out, "}");
}

static void put_ports(struct buf *out, const struct result_port *ports, unsigned count)
{
	key(out, "ports");
	buf_str(out, ports ? "[" : "null");
	for (unsigned i = 0; ports && i < count && !out->failed; i++) {
		buf_str(out, i ? ",\n    {" : "\n    {");
		put_number(out, "port", ports[i].port, true);
		put_number(out, "connections", ports[i].connections, false);
		put_number(out, "sent", ports[i].sent, false);
		put_number(out, "received", ports[i].received, false);
		buf_str(out, "}");
	}
	if (ports)
		buf_str(out, count ? "\n  ]" : "]");
}

/* Puts the earlier runs, one line each, with the reasons of their failures. */
static void put_attempts(struct buf *out, const struct job_result *r)
{
	unsigned count = r->attempt ? r->attempt - 1 : 0;

	key(out, "attempt");
	buf_fmt(out, "%u", r->attempt);
	key(out, "attempts");
	buf_str(out, "[");
	for (unsigned i = 0; i < count && !out->failed; i++) {
		const struct result_attempt *a = &r->attempts[i];

		buf_fmt(out, "%s\n    {\"status\": ", i ? "," : "");
		text_or_null(out, a->known ? status_name(a->status) : NULL);
		buf_str(out, ", \"message\": ");
		text_or_null(out, a->known ? a->message : NULL);
		buf_str(out, ", \"started\": ");
		time_or_null(out, a->known ? a->started_ns : 0);
		buf_str(out, ", \"ended\": ");
		time_or_null(out, a->known ? a->ended_ns : 0);
		buf_str(out, "}");
	}
	buf_str(out, count ? "\n  ]" : "]");
}

static void put_ending(struct buf *out, const struct job_result *r,
		       const char *fault)
{
	char room[16];

	put_text(out, "status", status_name(r->status));
	key(out, "exit_code");
	buf_fmt(out, "%u", r->exit_code);
	put_text(out, "signal", signal_name(r->signal, room));
	put_message(out, r->message, fault);
	key(out, "program_exit_code");
	if (r->program_exit_code < 0)
		buf_str(out, "null");
	else
		buf_fmt(out, "%d", r->program_exit_code);
}

static void put_environment(struct buf *out, const struct job_result *r)
{
	key(out, "environment");
	if (!r->environment) {
		buf_str(out, "null");
		return;
	}
	buf_str(out, "{\"name\": ");
	text_or_null(out, r->environment);
	buf_str(out, ", \"id\": ");
	text_or_null(out, r->environment_id);
	buf_fmt(out, ", \"warm\": %s, \"why\": ",
		r->warm < 0 ? "null" : r->warm ? "true" : "false");
	text_or_null(out, r->why);
	buf_str(out, "}");
}

int result_render(const struct job_result *result, struct buf *out)
{
	struct guest guest = { .root = NULL };
	int r = guest_read(result, &guest);

	if (r < 0)
		return r;
	if (!out->cap)
		out->cap = LIMIT_RESULT_BYTES;
	buf_str(out, "{\n  \"schema\": 1");
	put_text(out, "job", result->job);
	put_text(out, "id", result->id);
	put_text(out, "language", result->language);
	put_text(out, "session", result->session);
	put_text(out, "session_state", result->session_state);
	key(out, "step");
	number_or_null(out, result->step ? result->step : RESULT_UNKNOWN);
	put_environment(out, result);
	put_ending(out, result, guest.fault.text);
	put_attempts(out, result);
	key(out, "stdin");
	buf_str(out, "{");
	put_number(out, "read", result->stdin_read, true);
	buf_str(out, "}");
	put_stream(out, "stdout", result->stdout_bytes,
		   result->stdout_dropped);
	put_stream(out, "stderr", result->stderr_bytes,
		   result->stderr_dropped);
	put_output(out, result);
	put_value(out, result, &guest);
	put_figures(out, result);
	put_network(out, result->network);
	put_ports(out, result->ports, result->port_count);
	put_time(out, "created", result->created_ns);
	put_time(out, "started", result->started_ns);
	put_time(out, "ended", result->ended_ns);
	put_time(out, "kept_until", result->kept_until_ns);
	buf_str(out, "\n}\n");
	json_decref(guest.root);
	return out->failed;
}
