/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway with other tools: those that MCP's conformance suite calls. So the suite
 * tries each kind of content, progress and errors on the gateway's own transports. It is
 * linked with all of the gateway but mcp_tools.c, whose doors it has.
 */
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/mcp/mcp.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define STEP_MS 50u
#define NEEDS_CAPABILITY (-32021)

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define PNG "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"iVBORw0KGgoAA" \
	"AANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJ" \
	"RU5ErkJggg==\"}"
#define WAV "{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"UklGRiQAAABXQ" \
	"VZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=\"}"
#define RESOURCE(uri, mime, text) "{\"type\":\"resource\",\"resource\":{\"uri\":\"" \
	uri "\",\"mimeType\":\"" mime "\",\"text\":\"" text "\"}}"

static const struct fixture {
	const char *name, *content;
	bool fails, progresses;
	const char *capability; /* that the client must have */
} fixtures[] = {
	{ "test_simple_text",
	  TEXT("This is a simple text response for testing."), 0, 0, NULL },
	{ "test_image_content", PNG, 0, 0, NULL },
	{ "test_audio_content", WAV, 0, 0, NULL },
	{ "test_embedded_resource",
	  RESOURCE("test://embedded-resource", "text/plain",
		   "This is an embedded resource content."), 0, 0, NULL },
	{ "test_multiple_content_types",
	  TEXT("Multiple content types test:") "," PNG ","
	  RESOURCE("test://mixed-content-resource", "application/json",
		   "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}"), 0, 0, NULL },
	{ "test_error_handling",
	  TEXT("This tool intentionally returns an error for testing"), 1, 0, NULL },
	{ "test_tool_with_progress", TEXT("done"), 0, 1, NULL },
	{ "test_logging_tool", TEXT("done"), 0, 0, NULL },
	{ "test_streaming_elicitation", TEXT("done"), 0, 0, NULL },
	{ "test_missing_capability", TEXT("done"), 0, 0, "sampling" },
};

json_t *mcp_tools_list(const struct mcp *m)
{
	json_t *list = json_array();

	(void)m;
	for (size_t i = 0; i < ARRAY_SIZE(fixtures); i++)
		json_array_append_new(list, json_pack(
			"{s:s, s:s, s:{s:s}}", "name", fixtures[i].name,
			"description", "A fixture", "inputSchema", "type",
			"object"));
	return list;
}

static json_t *result_of(const struct fixture *f)
{
	auto_buf struct buf text = { 0 };

	buf_fmt(&text, "[%s]", f->content);
	return json_pack("{s:o, s:b}", "content",
			 json_loads(text.data ? text.data : "", 0, NULL),
			 "isError", f->fails);
}

/* --- progress, on the loop ------------------------------------------------------------ */

/* The suite's client stays until the end, so this needs no way to be given up. */
struct steps {
	struct reactor_timer timer;
	struct reactor_post post;
	struct mcp *mcp;
	const struct fixture *fixture;
	json_int_t progress;
};

static void on_step(struct reactor_timer *timer)
{
	struct steps *s = container_of(timer, struct steps, timer);
	struct mcp *m = s->mcp;

	if (s->progress > 100) {
		m->sink->reply(m->arg, mcp_reply(m, result_of(s->fixture)));
		free(s);
		return;
	}
	if (m->token)
		m->sink->tell(m->arg, json_pack(
			"{s:s, s:s, s:{s:O, s:I, s:i}}", "jsonrpc", "2.0",
			"method", "notifications/progress", "params",
			"progressToken", m->token, "progress", s->progress,
			"total", 100));
	s->progress += 50;
	reactor_timer_set(&m->gateway->reactor, timer, STEP_MS);
}

static void on_begin(struct reactor_post *post)
{
	struct steps *s = container_of(post, struct steps, post);

	s->timer.fn = on_step;
	reactor_timer_set(&s->mcp->gateway->reactor, &s->timer, STEP_MS);
}

static enum mcp_state run_steps(struct mcp *m, const struct fixture *f)
{
	struct steps *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->mcp = m;
	s->fixture = f;
	s->post.fn = on_begin;
	reactor_post(&m->gateway->reactor, &s->post);
	return MCP_RUNS;
}

/* --- a call -------------------------------------------------------------------------- */

static enum mcp_state replied(struct mcp *m, unsigned status, json_t *reply)
{
	m->status = m->modern ? status : 200;
	m->answer = reply;
	return MCP_REPLIED;
}

static bool has_capability(const struct mcp *m, const char *name)
{
	return !name || json_object_get(
		json_object_get(json_object_get(m->params, "_meta"),
				"io.modelcontextprotocol/clientCapabilities"), name);
}

static json_t *lacks(const struct mcp *m, const char *name)
{
	json_t *reply = mcp_error(m, NEEDS_CAPABILITY, "a capability is missing");

	json_object_set_new(json_object_get(reply, "error"), "data", json_pack(
		"{s:{s:{}}}", "requiredCapabilities", name));
	return reply;
}

enum mcp_state mcp_tools_call(struct mcp *m)
{
	const char *name = text_member(m->params, "name");

	for (size_t i = 0; name && i < ARRAY_SIZE(fixtures); i++) {
		const struct fixture *f = &fixtures[i];

		if (strcmp(f->name, name) != 0)
			continue;
		if (!has_capability(m, f->capability))
			return replied(m, 400, lacks(m, f->capability));
		return f->progresses
			       ? run_steps(m, f)
			       : replied(m, 200, mcp_reply(m, result_of(f)));
	}
	return replied(m, 200, mcp_error(m, MCP_BAD_PARAMS, "no such tool"));
}
