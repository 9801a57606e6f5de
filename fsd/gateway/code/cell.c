/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders a cell's results as lines of the code service: one JSON object each, in ASCII,
 * since a client may decode each packet by itself.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "code.h"
#include "layout/base/cleanup.h"
#include "layout/lang.h"

/* most bytes of an entry; a longer one is left out */
#define ENTRY_MAX (32u << 20)

/* The member for each MIME type; others go into "extra". */
static const struct {
	const char *mime, *key;
	bool binary; /* the member's text is base64 */
} kinds[] = {
	{ "text/plain", "text", false },
	{ "text/html", "html", false },
	{ "text/markdown", "markdown", false },
	{ "image/svg+xml", "svg", false },
	{ "image/png", "png", true },
	{ "image/jpeg", "jpeg", true },
	{ "application/pdf", "pdf", true },
	{ "text/latex", "latex", false },
	{ "application/json", "json", false },
	{ "application/javascript", "javascript", false },
	{ "application/vnd.fsd.data+json", "data", false },
	{ "application/vnd.fsd.chart+json", "chart", false },
};

/* Appends a line. Takes json. */
static void put_line(struct buf *out, json_t *json)
{
	if (json && text_json(out, json) == 0)
		buf_str(out, "\n");
	json_decref(json);
}

void cell_error(struct buf *out, const char *name, const char *value,
		const char *traceback)
{
	put_line(out, json_pack("{s:s, s:o, s:o, s:o}", "type", "error", "name",
				text_string(name, strlen(name)), "value",
				text_string(value, strlen(value)), "traceback",
				text_string(traceback, strlen(traceback))));
}

void cell_output(struct buf *out, const char *name, const json_t *event)
{
	json_t *data = json_object_get(event, "data"), *text;
	const char *coded = text_member(event, "base64");
	json_t *time = json_object_get(event, "time");
	auto_buf struct buf bytes = { 0 };

	if (coded) {
		text_unbase64(&bytes, coded, strlen(coded));
		text = text_string(bytes.data ? bytes.data : "", bytes.len);
	} else {
		text = json_incref(data);
	}
	put_line(out, json_pack("{s:s, s:o, s:O}", "type", name, "text", text,
				"timestamp", time));
}

/* Returns whether text is the inside of a JSON string, in ASCII, that needs no
 * conversion. */
static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c == '"' || c > '~')
			return false;
		if (c != '\\')
			continue;
		i++;
		if (i < len && memchr("\"\\/bfnrt", text[i], 8))
			continue;
		/* any other byte must begin an escaped control character */
		if (len - i < 5 || memcmp(text + i, "u00", 3) != 0 ||
		    !isxdigit((unsigned char)text[i + 3]) ||
		    !isxdigit((unsigned char)text[i + 4]))
			return false;
		i += 4;
	}
	return true;
}

bool cell_copy(struct buf *out, const char *line, size_t len)
{
	static const char head[] = "{\"time\": \"",
			  name[] = "\", \"event\": \"stdout\", \"data\": \"";
	const size_t time_at = sizeof(head) - 1, time_len = 24;
	const size_t text_at = time_at + time_len + sizeof(name) - 1;

	if (len < text_at + 2 || memcmp(line, head, time_at) != 0 ||
	    memcmp(line + time_at + time_len, name, sizeof(name) - 1) != 0 ||
	    memcmp(line + len - 2, "\"}", 2) != 0 ||
	    !is_plain(line + time_at, time_len) ||
	    !is_plain(line + text_at, len - 2 - text_at))
		return false;
	buf_str(out, "{\"type\":\"stdout\",\"text\":\"");
	buf_add(out, line + text_at, len - 2 - text_at);
	buf_str(out, "\",\"timestamp\":\"");
	buf_add(out, line + time_at, time_len);
	return buf_str(out, "\"}\n") == 0;
}

/* --- results ------------------------------------------------------------------------ */

static void put_note(struct buf *out, const char *mime, const char *why)
{
	char text[200];

	snprintf(text, sizeof(text), "A result of the type %.60s is left out: "
		 "%.100s\n", mime, why);
	put_line(out, json_pack("{s:s, s:s, s:s}", "type", "stderr", "text",
				text, "timestamp", ""));
}

/* Removes one pair of quotes around a text result: clients expect it without. */
static json_t *unquoted(json_t *text)
{
	const char *p = json_string_value(text);
	size_t len = json_string_length(text);

	if (p && len >= 2 && (*p == '\'' || *p == '"') && p[len - 1] == *p)
		return json_stringn_nocheck(p + 1, len - 2);
	return json_incref(text);
}

/* Reads the file of an entry with a path. Returns NULL if the entry is left out; a line
 * then says why. */
static json_t *read_entry(struct buf *out, const struct cell_end *end,
			  const char *mime, const char *path, bool binary)
{
	auto_buf struct buf bytes = { .cap = ENTRY_MAX };
	auto_buf struct buf coded = { .cap = 2 * ENTRY_MAX };
	int r = end->read(end->arg, path, &bytes);

	if (r < 0) {
		put_note(out, mime, r == -EFBIG ? "it is longer than 32 MiB"
			 : r == -EAGAIN ? "results of this client take as much memory "
					  "as they may" : strerror(-r));
		return NULL;
	}
	if (!binary)
		return text_string(bytes.data ? bytes.data : "", bytes.len);
	text_base64(&coded, bytes.data, bytes.len, false);
	buf_done(&bytes);
	return json_stringn_nocheck(coded.data ? coded.data : "", coded.len);
}

static json_t *entry_value(struct buf *out, const struct cell_end *end,
			   const char *mime, const json_t *entry, bool binary)
{
	const char *path = text_member(entry, "path");
	json_t *value = json_object_get(entry, "data");

	if (path)
		return end->read ? read_entry(out, end, mime, path, binary) : NULL;
	if (!value)
		value = json_object_get(entry, "base64");
	return value ? json_incref(value) : NULL;
}

static void add_entry(struct buf *out, const struct cell_end *end, json_t *line,
		      const json_t *entry)
{
	const char *mime = text_member(entry, "mime");
	const char *key = NULL;
	bool binary = false;
	json_t *value;

	for (size_t i = 0; mime && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].mime, mime)) {
			key = kinds[i].key;
			binary = kinds[i].binary;
		}
	if (!mime)
		return;
	value = entry_value(out, end, mime, entry, binary || !key);
	if (value && key && !strcmp(key, "text")) {
		json_t *text = unquoted(value);

		json_decref(value);
		value = text;
	}
	if (value)
		json_object_set_new(key ? line : json_object_get(line, "extra"),
				    key ? key : mime, value);
}

static json_int_t bundle_of(const json_t *entry, json_int_t other)
{
	const json_t *bundle = json_object_get(entry, "bundle");

	return json_is_integer(bundle) ? json_integer_value(bundle) : other;
}

/* Puts the entries from `at` on that belong to one display. Return: where the
 * next display's begin. */
static size_t put_bundle(struct buf *out, const json_t *entries, size_t at,
			 const struct cell_end *end)
{
	const json_t *entry = json_array_get(entries, at);
	json_int_t bundle = bundle_of(entry, -1);
	bool main = false;
	bool told = bundle > 0 && bundle < CELL_SHOWN && end->shown[bundle];
	json_t *line = json_pack("{s:s, s:{}}", "type", "result", "extra");

	do {
		main |= json_is_true(json_object_get(entry, "main"));
		if (!told)
			add_entry(out, end, line, entry);
		entry = json_array_get(entries, ++at);
	} while (entry && bundle >= 0 && bundle_of(entry, -2) == bundle);
	json_object_set_new(line, "is_main_result", json_boolean(main));
	if (told)
		json_decref(line);
	else
		put_line(out, line);
	return at;
}

/* Entries of one display are adjacent. */
static void put_results(struct buf *out, const json_t *entries,
			const struct cell_end *end)
{
	for (size_t at = 0; at < json_array_size(entries);)
		at = put_bundle(out, entries, at, end);
}

void cell_shown(struct buf *out, const json_t *shown, bool *told)
{
	const json_t *entries = json_object_get(shown, "results");
	json_int_t bundle = bundle_of(json_array_get(entries, 0), 0);
	struct cell_end whole = { .shown = told }; /* no entry has a path */

	/* Ignore a display without a valid number: it could not be marked as sent, and
	 * would come again at the end. */
	if (bundle <= 0 || bundle >= CELL_SHOWN || told[bundle])
		return;
	put_results(out, entries, &whole);
	told[bundle] = true;
}

/* --- the end ------------------------------------------------------------ */

static const char *text_or(const json_t *object, const char *name,
			   const char *other)
{
	const char *text = text_shown(object, name);

	return text ? text : other;
}

static void put_exit(struct buf *out, const json_t *result)
{
	json_int_t code =
		json_integer_value(json_object_get(result, "exit_code"));
	const struct lang *lang = lang_by_name(text_or(result, "language", ""));
	char text[24];

	if (!code)
		return;
	snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, code);
	cell_error(out, lang ? lang->exit_error : "ExitStatus", text, "");
}

/* Writes the mount's sentence about a cell that exited, such as that its output is over
 * its limit, to stderr. put_end() puts the sentence of other ends into their error. */
static void put_notice(struct buf *out, const json_t *result)
{
	json_t *notice = !strcmp(text_or(result, "status", ""), "exited") ?
				 text_notice(text_shown(result, "message")) : NULL;

	if (notice)
		put_line(out, json_pack("{s:s, s:o, s:s}", "type", "stderr", "text",
					notice, "timestamp", ""));
}

static void put_end(struct buf *out, const json_t *result,
		    const struct cell_end *end)
{
	const json_t *error = json_object_get(result, "error");
	const char *status = text_or(result, "status", "failed");
	const char *message = text_or(result, "message", end->message);
	char text[160];

	if (end->restarted) {
		cell_error(out, "ContextRestarting",
			   "Context was restarted", "");
	} else if (json_is_object(error)) {
		cell_error(out, text_or(error, "name", "Error"),
			   text_or(error, "value", ""),
			   text_or(error, "traceback", ""));
	} else if (!strcmp(status, "exited")) {
		put_exit(out, result);
	} else if (!strcmp(status, "out_of_memory")) {
		snprintf(text, sizeof(text), "more than %" PRIu64 " MiB were "
			 "needed; the interpreter's state is lost",
			 end->memory_mb);
		cell_error(out, "OutOfMemory", text, "");
	} else {
		cell_error(out, "UnexpectedEndOfExecution",
			   message ? message : status, "");
	}
}

void cell_lines(struct buf *out, const json_t *result,
		const struct cell_end *end)
{
	put_notice(out, result);
	put_results(out, json_object_get(result, "results"), end);
	put_end(out, result, end);
	buf_str(out, "{\"type\":\"end_of_execution\"}\n");
}
