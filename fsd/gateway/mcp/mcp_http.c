/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /mcp. The reply is JSON, or a stream of events if the client wants
 * progress. Its end may come on the loop before the handler has returned; then
 * on_begun() sends it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "mcp.h"

#define QUIET_MS 15000u

struct exchange {
	struct mcp mcp;
	/* owns a reference; NULL: the client is gone */
	struct request *request;
	bool streams, begun, over;
};

static void free_exchange(struct exchange *x)
{
	mcp_done(&x->mcp);
	free(x);
}

static void add_event(struct request *r, json_t *message)
{
	auto_buf struct buf line = { .cap = 64u << 20 };

	buf_str(&line, "data: ");
	text_json(&line, message);
	buf_str(&line, "\n\n");
	stream_add(r, line.data, line.len);
	json_decref(message);
}

/* Sends the reply and frees the exchange. */
static void finish(struct exchange *x)
{
	struct request *r = x->request;

	x->request = NULL;
	r->state = NULL;
	if (x->streams) {
		add_event(r, take_ptr(x->mcp.answer));
		stream_end(r);
	} else {
		reply_json(r, 200, take_ptr(x->mcp.answer));
		if (x->begun)
			request_answer(r);
	}
	request_unref(r);
	free_exchange(x);
}

/* --- on the loop
 * --------------------------------------------------------------------- */

static void on_tell(void *arg, json_t *message)
{
	struct exchange *x = arg;

	/* also before on_begun(): only a run sends progress, and its reply is
	 * the stream */
	if (x->streams && x->request)
		add_event(x->request, message);
	else
		json_decref(message);
}

static void on_reply(void *arg, json_t *reply)
{
	struct exchange *x = arg;

	x->mcp.answer = reply;
	x->over = true;
	if (x->begun)
		finish(x);
}

static const struct mcp_sink sink = { on_tell, on_reply };

static void on_begun(struct request *r)
{
	struct exchange *x = r->state;

	if (!x)
		return;
	if (x->over) {
		request_ref(r); /* finish() releases its own reference */
		finish(x);
		request_unref(r);
	} else {
		x->begun = true;
	}
}

static void on_gone(struct request *r)
{
	struct exchange *x = r->state;

	if (!x)
		return;
	r->state = NULL;
	x->request = NULL;
	mcp_abandon(&x->mcp);
	free_exchange(x);
	request_unref(r);
}

static void on_quiet(struct request *r)
{
	stream_add(r, ":\n\n", 3);
}

static const struct stream_ops stream_ops = {
	.begun = on_begun, .gone = on_gone, .quiet = on_quiet,
	.quiet_ms = QUIET_MS,
};
static const struct stream_ops later_ops = { .begun = on_begun,
					     .gone = on_gone };

/* --- on a worker
 * ----------------------------------------------------------------------- */

/* Returns whether the message asks for progress, before it is handled. */
static bool wants_stream(const struct request *r)
{
	auto_json json_t *message = NULL;
	struct err err = { 0 };

	if (json_read(r->body.data ? r->body.data : "", r->body.len, 32, NULL,
		      &message, &err) < 0)
		return false;
	return json_object_get(json_object_get(json_object_get(message, "params"),
					       "_meta"), "progressToken");
}

static void no_more(struct request *r)
{
	r->later = false;
	r->ops = NULL;
	r->state = NULL;
	request_unref(r); /* this is not the last reference */
}

void post_mcp(struct request *r)
{
	struct mcp_head head = {
		.version = request_header(r, "MCP-Protocol-Version"),
		.method = request_header(r, "Mcp-Method"),
		.name = request_header(r, "Mcp-Name"),
	};
	struct exchange *x = calloc(1, sizeof(*x));
	enum mcp_state state;

	if (!x) {
		reply_failure(r, -ENOMEM, "no memory for a message");
		return;
	}
	x->mcp = (struct mcp){ .gateway = r->gateway, .caller = r->caller,
			       .sink = &sink, .arg = x };
	x->streams = wants_stream(r);
	x->request = request_ref(r);
	r->state = x;
	if (x->streams)
		reply_stream(r, 200, "text/event-stream", SIZE_UNKNOWN,
			     &stream_ops);
	else
		reply_later(r, &later_ops);
	state = mcp_begin(&x->mcp, r->body.data ? r->body.data : "", r->body.len,
			  &head);
	if (state == MCP_RUNS)
		return;
	no_more(r);
	if (state == MCP_SILENT)
		reply_empty(r, 202);
	else
		reply_json(r, x->mcp.status, take_ptr(x->mcp.answer));
	free_exchange(x);
}
