/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One message of the Model Context Protocol: finds its revision, checks that
 * revision's rules, and calls its method. Each message is complete, so there
 * are no sessions. All functions run on a worker.
 */
#include "mcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/control/control.h"
#include "fsd/gateway/control/egress.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define DEPTH 32
#define LIST_TTL_MS 3600000

/* Not 2025-03-26: its servers must accept lists of messages; no other revision
 * has them. */
static const char *const legacy_versions[] = { "2025-11-25", "2025-06-18",
					       "2024-11-05" };

/* Sets the answer, with HTTP's status for a modern client. */
static enum mcp_state answer(struct mcp *m, unsigned status, json_t *reply)
{
	m->status = m->modern ? status : 200;
	m->answer = reply;
	return MCP_REPLIED;
}

static enum mcp_state refuse(struct mcp *m, unsigned status, int code,
			     const char *sentence)
{
	return answer(m, status, mcp_error(m, code, sentence));
}

/* --- methods ---------------------------------------------------------------------- */

static void add_cache(const struct mcp *m, json_t *result)
{
	if (!m->modern)
		return;
	json_object_set_new(result, "ttlMs", json_integer(LIST_TTL_MS));
	json_object_set_new(result, "cacheScope", json_string("public"));
}

/* Returns instructions for the model: which modules the environment has. */
static json_t *instructions(const struct mcp *m)
{
	const char *name = gateway_environment(m->gateway);
	auto_buf struct buf text = { 0 }, modules = { .cap = 65536 };
	bool any = false;
	char path[128];

	snprintf(path, sizeof(path), ".fsd/templates/%.64s/imported", name);
	buf_fmt(&text, "Programs run in the environment \"%s\", ", name);
	egress_words(m->gateway, &text);
	buf_str(&text, egress_offer(m->gateway).network ? "."
			: ": nothing can be installed.");
	if (mount_read(&m->gateway->mount, path, &modules, NULL) < 0 ||
	    !modules.len)
		return text_string(text.data, text.len);
	buf_str(&text, " These modules are there, imported already");
	for (char *at = modules.data, *word; (word = strsep(&at, "\n"));) {
		if (*word)
			buf_fmt(&text, "%s %s", any ? "," : ":", word);
		any |= *word;
	}
	buf_str(&text, ".");
	return text_string(text.data, text.len);
}

static enum mcp_state discover(struct mcp *m)
{
	json_t *result = json_pack("{s:[s], s:{s:{}}, s:o, s:o}",
				   "supportedVersions", MCP_MODERN,
				   "capabilities", "tools", "serverInfo",
				   mcp_server_info(), "instructions",
				   instructions(m));

	add_cache(m, result);
	return answer(m, 200, mcp_reply(m, result));
}

static enum mcp_state initialize(struct mcp *m)
{
	const char *asked = text_member(m->params, "protocolVersion");
	const char *version = legacy_versions[0];

	for (size_t i = 0; asked && i < ARRAY_SIZE(legacy_versions); i++)
		if (!strcmp(legacy_versions[i], asked))
			version = legacy_versions[i];
	return answer(m, 200, mcp_reply(m, json_pack(
		"{s:s, s:{s:{}}, s:o, s:o}", "protocolVersion", version,
		"capabilities", "tools", "serverInfo", mcp_server_info(),
		"instructions", instructions(m))));
}

static enum mcp_state ping(struct mcp *m)
{
	return answer(m, 200, mcp_reply(m, json_object()));
}

static enum mcp_state list_tools(struct mcp *m)
{
	json_t *result = json_pack("{s:o}", "tools", mcp_tools_list(m));

	add_cache(m, result);
	return answer(m, 200, mcp_reply(m, result));
}

enum era { LEGACY = 1, MODERN = 2, BOTH = 3 };

static const struct {
	const char *name;
	enum era era;
	enum mcp_state (*fn)(struct mcp *m);
} methods[] = {
	{ "server/discover", MODERN, discover },
	{ "initialize", LEGACY, initialize },
	{ "ping", LEGACY, ping },
	{ "tools/list", BOTH, list_tools },
	{ "tools/call", BOTH, mcp_tools_call },
};

/* --- checking a message ------------------------------------------------- */

static const json_t *meta_of(const struct mcp *m)
{
	return json_object_get(m->params, "_meta");
}

static const char *version_of(const struct mcp *m)
{
	return text_member(meta_of(m), MCP_META "protocolVersion");
}

static bool is_modern(const struct mcp *m, const struct mcp_head *head)
{
	if (version_of(m) || !strcmp(m->method, "server/discover"))
		return true;
	return head && head->version && strcmp(head->version, MCP_MODERN) >= 0;
}

/* Decodes "=?base64?TEXT?="; other values stay. */
static int decode_header(const char *value, struct buf *out)
{
	static const char begin[] = "=?base64?", end[] = "?=";
	size_t len = strlen(value), head = sizeof(begin) - 1;

	if (len < head + sizeof(end) - 1 || strncmp(value, begin, head) != 0 ||
	    strcmp(value + len - 2, end) != 0)
		return buf_str(out, value);
	return text_unbase64(out, value + head, len - head - 2);
}

static bool header_is(const char *header, const char *wanted)
{
	auto_buf struct buf value = { 0 };

	return header && wanted && decode_header(header, &value) == 0 &&
	       value.data && value.len == strlen(value.data) &&
	       !strcmp(value.data, wanted);
}

/* Returns the header that does not match the body, or NULL. */
static const char *wrong_header(const struct mcp *m, const struct mcp_head *head)
{
	if (!header_is(head->version, version_of(m)))
		return "the header MCP-Protocol-Version must be there and be "
		       "the version that _meta names";
	if (!header_is(head->method, m->method))
		return "the header Mcp-Method must be there and be the "
		       "message's method";
	if (!strcmp(m->method, "tools/call") &&
	    !header_is(head->name, text_member(m->params, "name")))
		return "the header Mcp-Name must be there and be the tool's "
		       "name";
	return NULL;
}

/* Return: MCP_SILENT: it is valid; else it has answered. */
static enum mcp_state check_modern(struct mcp *m, const struct mcp_head *head)
{
	const char *version = version_of(m), *wrong;

	if (!version || !json_is_object(json_object_get(
				meta_of(m), MCP_META "clientCapabilities")))
		return refuse(m, 400, MCP_BAD_PARAMS,
			      "_meta must have " MCP_META "protocolVersion and "
			      MCP_META "clientCapabilities");
	wrong = head ? wrong_header(m, head) : NULL;
	if (wrong)
		return refuse(m, 400, MCP_BAD_HEADERS, wrong);
	if (strcmp(version, MCP_MODERN) != 0)
		return answer(m, 400, mcp_error_with(
			m, MCP_BAD_VERSION, "this version is not known here",
			json_pack("{s:[s], s:s}", "supported", MCP_MODERN,
				  "requested", version)));
	return MCP_SILENT;
}

static enum mcp_state call_method(struct mcp *m)
{
	char text[200];

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (!strcmp(methods[i].name, m->method) &&
		    methods[i].era & (m->modern ? MODERN : LEGACY))
			return methods[i].fn(m);
	snprintf(text, sizeof(text), "there is no method \"%.100s\"", m->method);
	return refuse(m, 404, MCP_NO_METHOD, text);
}

static bool id_is_good(const json_t *id)
{
	return json_is_string(id) || json_is_integer(id);
}

/* Return: MCP_SILENT: it is a message; else it has answered. */
static enum mcp_state take_message(struct mcp *m)
{
	const char *version = text_member(m->message, "jsonrpc");

	if (!json_is_object(m->message))
		return answer(m, 400, mcp_error(
			m, MCP_INVALID, "a message must be one JSON object; "
			"lists of messages are not taken"));
	m->id = json_object_get(m->message, "id");
	m->method = text_member(m->message, "method");
	m->params = json_object_get(m->message, "params");
	if (m->id && !id_is_good(m->id)) {
		m->id = NULL;
		return refuse(m, 400, MCP_INVALID,
			      "id must be a string or an integer");
	}
	if (!version || strcmp(version, "2.0") != 0)
		return refuse(m, 400, MCP_INVALID, "jsonrpc must be \"2.0\"");
	if (m->params && !json_is_object(m->params))
		return refuse(m, 400, MCP_BAD_PARAMS, "params must be an object");
	return MCP_SILENT;
}

enum mcp_state mcp_begin(struct mcp *m, const char *text, size_t len,
			 const struct mcp_head *head)
{
	struct err err = { 0 };
	enum mcp_state state;

	m->modern = head && head->version &&
		    strcmp(head->version, MCP_MODERN) >= 0;
	if (json_read(text, len, DEPTH, NULL, &m->message, &err) < 0)
		return refuse(m, 400, MCP_PARSE, err.text);
	state = take_message(m);
	if (state != MCP_SILENT)
		return state;
	if (!m->method) /* with an id it is a reply; this server sends no requests */
		return m->id ? MCP_SILENT
			     : refuse(m, 400, MCP_INVALID,
				      "method must be a string");
	if (!m->id)
		return MCP_SILENT;
	m->modern = is_modern(m, head);
	m->token = json_object_get(meta_of(m), "progressToken");
	state = m->modern ? check_modern(m, head) : MCP_SILENT;
	return state == MCP_SILENT ? call_method(m) : state;
}

void mcp_done(struct mcp *m)
{
	json_decref(m->message);
	json_decref(m->answer);
	m->message = m->answer = NULL;
}
