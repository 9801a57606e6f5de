/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes replies of MCP: a method's or a tool's result, an error of JSON-RPC,
 * and a mount's errno as one of both. A modern client gets the server's name
 * with each result. Pure.
 */
#include "mcp.h"

#include <string.h>

#include "fsd/gateway/base/errors.h"
#include "layout/base/version.h"

json_t *mcp_server_info(void)
{
	return json_pack("{s:s, s:s, s:s}", "name", "fsd", "title",
			 "fsd: code in microVMs", "version", FSD_VERSION);
}

static json_t *id_of(const struct mcp *m)
{
	return m->id ? json_incref(m->id) : json_null();
}

json_t *mcp_reply(const struct mcp *m, json_t *result)
{
	if (m->modern && result) {
		json_object_set_new(result, "resultType", json_string("complete"));
		json_object_set_new(result, "_meta", json_pack(
			"{s:o}", MCP_META "serverInfo", mcp_server_info()));
	}
	return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id_of(m),
			 "result", result);
}

json_t *mcp_error_with(const struct mcp *m, int code, const char *sentence,
		       json_t *data)
{
	json_t *error = json_pack("{s:i, s:o}", "code", code, "message",
				  text_string(sentence, strlen(sentence)));

	if (data)
		json_object_set_new(error, "data", data);
	return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id_of(m),
			 "error", error);
}

json_t *mcp_error(const struct mcp *m, int code, const char *sentence)
{
	return mcp_error_with(m, code, sentence, NULL);
}

json_t *mcp_text_part(const char *text, size_t len)
{
	return json_pack("{s:s, s:o}", "type", "text", "text",
			 text_string(text, len));
}

json_t *mcp_tool_failed(const char *sentence)
{
	return json_pack("{s:[o], s:b}", "content",
			 mcp_text_part(sentence, strlen(sentence)), "isError", 1);
}

json_t *mcp_failure(const struct mcp *m, int code, const char *sentence)
{
	int rpc = surface_of(code)->rpc;
	char text[TEXT_SENTENCE];

	text_outside(sentence, text);
	return rpc ? mcp_error(m, rpc, text)
		   : mcp_reply(m, mcp_tool_failed(text));
}
