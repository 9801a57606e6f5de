/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the answer of a job for a model: parts of text and images to read, and
 * an object with the same for programs. A program's output is always data
 * inside JSON. Pure, except `read`.
 */
#include <inttypes.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "layout/base/utf8.h"
#include "layout/result.h"
#include "mcp.h"

#define IMAGE_MAX (1u << 20)
#define TEXT_FILE_MAX (16u << 10)
#define FILES_MAX 10u
/* most parts of an answer; of further images only the type is listed */
#define SHOWN_MAX 24u
#define PATH_SHOWN 1024

static bool is_image(const char *mime)
{
	return mime && (!strcmp(mime, "image/png") || !strcmp(mime, "image/jpeg"));
}

static bool is_text(const char *mime)
{
	return mime && (!strncmp(mime, "text/", 5) ||
			!strcmp(mime, "application/json"));
}

static json_int_t integer(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

static bool is_true_of(const json_t *result, const char *name, const char *value)
{
	const char *text = text_member(result, name);

	return text && !strcmp(text, value);
}

/* --- parts ------------------------------------------------------------------------ */

static void add_text(json_t *content, const char *heading, const char *text,
		     size_t len)
{
	auto_buf struct buf b = { 0 };

	if (!len)
		return;
	buf_fmt(&b, "%s:\n", heading);
	buf_add(&b, text, len);
	json_array_append_new(content, mcp_text_part(b.data ? b.data : "",
						     b.len));
}

/*
 * Appends a long text's beginning and end, with the number of bytes left out.
 */
static void shorten(struct buf *out, const char *text, size_t len, uint64_t size)
{
	size_t half = MCP_PART_MAX / 2;

	if (len <= MCP_PART_MAX && size <= len) {
		buf_add(out, text, len);
		return;
	}
	half = half < len / 2 ? half : len / 2;
	buf_add(out, text, half);
	buf_fmt(out, "\n[... %" PRIu64 " bytes are left out ...]\n",
		size - 2 * half);
	buf_add(out, text + len - half, half);
}

static void add_stream(json_t *content, json_t *all, const char *name,
		       const struct mcp_stream *s)
{
	auto_buf struct buf b = { 0 };

	shorten(&b, s->text.data ? s->text.data : "", s->text.len, s->size);
	add_text(content, name, b.data, b.len);
	json_object_set_new(all, name, text_string(b.data ? b.data : "", b.len));
}

static void add_image(json_t *content, const char *mime, const char *coded)
{
	json_array_append_new(content, json_pack("{s:s, s:s, s:s}", "type",
						 "image", "data", coded,
						 "mimeType", mime));
}

static void add_image_bytes(json_t *content, const char *mime,
			    const struct buf *bytes)
{
	auto_buf struct buf coded = { .cap = 2 * IMAGE_MAX };

	if (text_base64(&coded, bytes->data, bytes->len, false) == 0)
		add_image(content, mime, coded.data ? coded.data : "");
}

/* --- displays ----------------------------------------------------------- */

static void add_shown(const struct mcp_end *end, json_t *content, json_t *list,
		      const json_t *entry)
{
	const char *mime = text_member(entry, "mime");
	const char *path = text_member(entry, "path");
	const char *coded = text_member(entry, "base64");
	json_t *data = json_object_get(entry, "data");
	auto_buf struct buf bytes = { .cap = IMAGE_MAX };
	json_t *one = json_pack("{s:s}", "mime", mime ? mime : "");
	bool image = is_image(mime) && json_array_size(content) < SHOWN_MAX;

	if (json_object_get(entry, "bundle"))
		json_object_set(one, "bundle", json_object_get(entry, "bundle"));
	if (json_object_get(entry, "main"))
		json_object_set(one, "main", json_object_get(entry, "main"));
	if (image && coded)
		add_image(content, mime, coded);
	else if (image && path &&
		 end->read(end->arg, path, &bytes) == 0)
		add_image_bytes(content, mime, &bytes);
	else if (json_is_string(data) &&
		 json_string_length(data) <= TEXT_FILE_MAX)
		json_object_set(one, "data", data);
	json_array_append_new(list, one);
}

static json_t *shown_of(const struct mcp_end *end, json_t *content)
{
	json_t *list = json_array(), *entry;
	size_t i;

	json_array_foreach(json_object_get(end->result, "results"), i, entry)
		add_shown(end, content, list, entry);
	return list;
}

/* --- files it made ------------------------------------------------------ */

static void add_resource(json_t *content, const char *path, const char *mime,
			 const struct buf *bytes)
{
	char uri[PATH_SHOWN + 32];

	snprintf(uri, sizeof(uri), "file:///home/user/%.*s", PATH_SHOWN, path);
	json_array_append_new(content, json_pack(
		"{s:s, s:{s:s, s:s, s:o}}", "type", "resource", "resource",
		"uri", uri, "mimeType", mime, "text",
		text_string(bytes->data ? bytes->data : "", bytes->len)));
}

/* Adds a file. Return: false: only its name and size are listed. */
static bool add_file(const struct mcp_end *end, json_t *content,
		     const char *path, const char *mime, json_int_t size)
{
	auto_buf struct buf bytes = { .cap = IMAGE_MAX + 1 };
	bool image = is_image(mime) && size <= IMAGE_MAX;

	if (!image && (!is_text(mime) || size > TEXT_FILE_MAX))
		return false;
	if (end->read(end->arg, path, &bytes) < 0)
		return false;
	if (image)
		add_image_bytes(content, mime, &bytes);
	else if (utf8_span(bytes.data ? bytes.data : "", bytes.len) == bytes.len)
		add_resource(content, path, mime, &bytes);
	else
		return false;
	return true;
}

static json_t *files_of(const struct mcp_end *end, json_t *content)
{
	json_t *list = json_array(), *entry;
	auto_buf struct buf others = { 0 };
	unsigned given = 0;
	size_t i;

	json_array_foreach(json_object_get(end->result, "output"), i, entry) {
		const char *path = text_member(entry, "path");
		const char *mime = text_member(entry, "mime");
		json_int_t size = integer(entry, "bytes");

		if (!path || !mime || !strncmp(mime, "inode/", 6))
			continue;
		json_array_append_new(list, json_pack(
			"{s:s, s:I, s:s}", "path", path, "bytes", size, "mime",
			mime));
		if (given < FILES_MAX && !json_object_get(entry, "path_encoding") &&
		    add_file(end, content, path, mime, size))
			given++;
		else
			buf_fmt(&others, "%.*s (%lld bytes)\n", PATH_SHOWN, path,
				(long long)size);
	}
	add_text(content, "other files", others.data, others.len);
	return list;
}

/* --- the answer --------------------------------------------------------- */

static void add_error(const struct mcp_end *end, json_t *content)
{
	const json_t *error = json_object_get(end->result, "error");
	const char *traceback = text_shown(error, "traceback");
	const char *name = text_shown(error, "name");
	const char *value = text_shown(error, "value");
	auto_buf struct buf b = { 0 };

	if (!error || json_is_null(error))
		return;
	if (traceback && *traceback)
		shorten(&b, traceback, strlen(traceback), strlen(traceback));
	else
		buf_fmt(&b, "%s: %.2000s", name ? name : "error",
			value ? value : "");
	add_text(content, "error", b.data, b.len);
}

static bool is_clean(const json_t *result)
{
	const json_t *error = json_object_get(result, "error");

	return is_true_of(result, "status", "exited") &&
	       !integer(result, "exit_code") && (!error || json_is_null(error));
}

static void add_end(const struct mcp_end *end, json_t *content)
{
	const char *status = text_member(end->result, "status");
	const char *message = text_shown(end->result, "message");
	auto_buf struct buf b = { 0 };

	if (!message)
		message = end->message;
	buf_fmt(&b, "%s, exit code %lld", status ? status : "lost",
		(long long)integer(end->result, "exit_code"));
	if (message && *message)
		buf_fmt(&b, "; %.1000s", message);
	if (is_true_of(end->result, "session_state", "lost"))
		buf_str(&b, "; the interpreter and its variables are lost");
	add_text(content, "ended", b.data, b.len);
}

static bool is_cut(const struct mcp_end *end)
{
	const json_t *result = end->result;

	return end->out->size > MCP_PART_MAX || end->err->size > MCP_PART_MAX ||
	       integer(json_object_get(result, "stdout"), "dropped") ||
	       integer(json_object_get(result, "stderr"), "dropped") ||
	       integer(result, "output_dropped");
}

static json_t *or_null(const json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	return value ? json_incref(value) : json_null();
}

json_t *mcp_result(const struct mcp_end *end)
{
	const char *text = text_shown(end->result, "text");
	const char *status = text_member(end->result, "status");
	const char *state = text_member(end->result, "session_state");
	json_t *content = json_array(), *all;

	all = json_pack("{s:s, s:I, s:o, s:o, s:s, s:b, s:b}", "status",
			status ? status : "failed", "exit_code",
			integer(end->result, "exit_code"), "text",
			or_null(end->result, "text"), "error",
			or_null(end->result, "error"), "state",
			state ? state : "none", "timed_out",
			is_true_of(end->result, "status", "timeout"), "truncated",
			is_cut(end));
	add_stream(content, all, "stdout", end->out);
	add_stream(content, all, "stderr", end->err);
	if (text)
		add_text(content, "value", text, strlen(text));
	add_error(end, content);
	json_object_set_new(all, "results", shown_of(end, content));
	json_object_set_new(all, "files", end->files ? files_of(end, content)
						     : json_array());
	if (!is_clean(end->result))
		add_end(end, content);
	else if (!json_array_size(content))
		json_array_append_new(content, mcp_text_part("(no output)", 11));
	return json_pack("{s:o, s:o, s:b}", "content", content,
			 "structuredContent", all, "isError",
			 !is_clean(end->result));
}
