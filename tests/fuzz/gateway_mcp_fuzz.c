/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of MCP that says anything. The input is a line of headers, their values parted
 * by tabs, then lines of messages. What must hold: lines are the same however they are
 * cut; a message has one reply, with its id, or is a notification; the reply is one line
 * of JSON. There is no mount, so each tool fails; the same text is also the result of a
 * job, of which a model gets some content.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/mcp/mcp.h"
#include "layout/base/cleanup.h"

#define LINE_MAX_BYTES 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* --- lines ------------------------------------------------------------------------ */

static void add_line(void *arg, struct buf *text)
{
	struct buf *all = arg;

	if (!text) {
		buf_str(all, "<long>\n");
		return;
	}
	check(text->len && text->len <= LINE_MAX_BYTES &&
	      !memchr(text->data, '\n', text->len));
	buf_add(all, text->data, text->len);
	buf_str(all, "\n");
	buf_clear(text);
}

static void cut(const char *text, size_t len, size_t piece, struct buf *out)
{
	struct mcp_lines lines = { .text = { .cap = LINE_MAX_BYTES },
				   .fn = add_line, .arg = out };

	for (size_t at = 0; at < len; at += piece)
		mcp_lines_add(&lines, text + at, len - at < piece ? len - at : piece);
	mcp_lines_end(&lines);
}

static void check_lines(const char *text, size_t len)
{
	auto_buf struct buf whole = { 0 }, pieces = { 0 };

	cut(text, len, len + 1, &whole);
	cut(text, len, 7, &pieces);
	check(whole.len == pieces.len &&
	      (!whole.len || !memcmp(whole.data, pieces.data, whole.len)));
}

/* --- messages --------------------------------------------------------------------- */

static void no_tell(void *arg, json_t *message)
{
	(void)arg;
	json_decref(message);
	abort(); /* nothing runs */
}

static const struct mcp_sink sink = { no_tell, no_tell };

static void check_reply(const struct mcp *m)
{
	auto_buf struct buf text = { .cap = 64u << 20 };
	const json_t *id = json_object_get(m->answer, "id");
	const json_t *error = json_object_get(m->answer, "error");
	const json_t *result = json_object_get(m->answer, "result");

	check(json_is_object(m->answer) && !error == !!result);
	check(m->id ? json_equal((json_t *)(uintptr_t)id,
				 (json_t *)(uintptr_t)m->id)
		    : json_is_null(id));
	check(!error || (json_is_integer(json_object_get(error, "code")) &&
			 json_is_string(json_object_get(error, "message"))));
	check(!result || !m->modern || text_member(result, "resultType"));
	check(m->modern || m->status == 200 || m->status == 400);
	check(text_json(&text, m->answer) == 0 &&
	      !memchr(text.data, '\n', text.len));
}

static void check_message(const char *text, size_t len,
			  const struct mcp_head *head)
{
	static struct gateway gateway = { .mount = { .fd = -1, .path = "none" },
					  .options.environment = "base" };
	struct mcp m = { .gateway = &gateway, .sink = &sink };
	enum mcp_state state = mcp_begin(&m, text, len, head);

	check(state == MCP_SILENT || state == MCP_REPLIED);
	if (state == MCP_REPLIED)
		check_reply(&m);
	else
		check(!m.answer && (!m.id || !m.method));
	mcp_done(&m);
}

/* --- results ---------------------------------------------------------------------- */

static int read_some(void *arg, const char *path, struct buf *out)
{
	(void)arg;
	return strlen(path) % 2 ? -1 : buf_str(out, path);
}

static void check_result(const char *text, size_t len)
{
	auto_json json_t *result = json_loadb(text, len, 0, NULL), *all = NULL;
	auto_buf struct buf bytes = { 0 }, out = { .cap = 64u << 20 };
	struct mcp_stream some = { .size = len + (len % 3) * MCP_PART_MAX };
	struct mcp_stream none = { .size = 0 };

	check(buf_add(&bytes, text, len) == 0);
	some.text = bytes;
	all = mcp_result(&(struct mcp_end){ .result = result, .out = &some,
					    .err = &none, .files = true,
					    .read = read_some });
	check(json_array_size(json_object_get(all, "content")) > 0 &&
	      json_is_object(json_object_get(all, "structuredContent")) &&
	      text_json(&out, all) == 0);
}

/* --- the input -------------------------------------------------------------------- */

/* The next value of the line of headers; NULL: it is not there. */
static const char *next_value(char **at)
{
	char *value = *at, *end = value ? strchr(value, '\t') : NULL;

	if (end)
		*end = '\0';
	*at = end ? end + 1 : NULL;
	return value && *value ? value : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *body, *at = text;
	struct mcp_head head;
	size_t len;

	memcpy(text, data, size);
	text[size] = '\0';
	check_lines(text, size);
	body = memchr(text, '\n', size);
	if (body)
		*body++ = '\0';
	else
		body = text;
	len = size - (size_t)(body - text);
	check_result(body, len);
	check_message(body, len, NULL);
	if (body != text) {
		head.version = next_value(&at);
		head.method = next_value(&at);
		head.name = next_value(&at);
		check_message(body, len, &head);
	}
	free(text);
	return 0;
}
