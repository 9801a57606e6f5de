/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends answers: a complete reply, or a stream. Adding to a stream wakes its
 * connection. All functions run on the loop.
 */
#include "http_int.h"

#include <string.h>
#include <time.h>

#include "layout/base/log.h"

void answer_resume(struct request *r)
{
	if (r->client)
		client_wake(r->client);
}

/* --- streams ----------------------------------------------------------------------- */

static void on_quiet(struct reactor_timer *timer)
{
	struct request *r = container_of(timer, struct request, timer);

	reactor_timer_set(&r->gateway->reactor, &r->timer, r->ops->quiet_ms);
	if (r->ops->quiet)
		r->ops->quiet(r);
}

void answer_mind_quiet(struct request *r)
{
	r->timer.fn = on_quiet;
	if (r->ops && r->ops->quiet_ms)
		reactor_timer_set(&r->gateway->reactor, &r->timer,
				  r->ops->quiet_ms);
}

/* Calls the handler's stream_ops no more: the handler has ended the stream, or the client
 * is gone. */
static void forget_ops(struct request *r)
{
	r->ops = NULL;
	reactor_timer_stop(&r->timer);
}

void answer_gone(struct request *r)
{
	const struct stream_ops *ops = r->ops;

	r->gone = true;
	r->ended = r->cut = true;
	forget_ops(r);
	if (ops && ops->gone)
		ops->gone(r);
	if (!r->answered && !r->handed) { /* the request has no reply yet */
		reply_error(r, 503, "the request was given up");
		r->answered = true;
	}
	answer_resume(r);
}

/* Takes memory of the budget for the unread bytes of a stream, above HTTP_STREAM_FREE.
 * Most handlers stop the source of their stream before it has so many. */
static bool hold_stream(struct request *r, size_t len)
{
	size_t need = r->out.len + len;

	return need <= HTTP_STREAM_FREE || need <= r->held.amount ||
	       !r->held.shares || r->handed || holding_set(&r->held, need);
}

void stream_add(struct request *r, const void *data, size_t len)
{
	if (r->gone || r->ended)
		return;
	if (!hold_stream(r, len) || buf_add(&r->out, data, len) < 0) {
		stream_cut(r);
		return;
	}
	if (r->ops && r->ops->quiet_ms && r->timer.node.next)
		reactor_timer_set(&r->gateway->reactor, &r->timer,
				  r->ops->quiet_ms);
	if (r->answered)
		answer_resume(r);
}

size_t stream_waiting(const struct request *r)
{
	return r->out.len;
}

void stream_end(struct request *r)
{
	r->ended = true;
	forget_ops(r);
	if (r->answered)
		answer_resume(r);
}

void stream_cut(struct request *r)
{
	r->cut = true;
	stream_end(r);
}

/*
 * Adds a piece. For HTTP/1.0 the end of the connection is the end of the body.
 */
static void add_piece(struct client *c, const char *data, size_t len)
{
	if (c->in_chunks)
		buf_fmt(&c->out, "%zx\r\n", len);
	buf_add(&c->out, data, len);
	if (c->in_chunks)
		buf_str(&c->out, "\r\n");
}

bool answer_more(struct client *c)
{
	struct request *r = c->request;
	size_t n = MIN(r->out.len, CLIENT_PIECE);

	buf_clear(&c->out);
	c->out_at = 0;
	if (r->cut || c->out.failed) {
		c->at = AT_END;
		return true;
	}
	if (!n && !r->ended)
		return false;
	if (n) {
		add_piece(c, r->out.data, n);
		buf_eat(&r->out, n);
		r->sent += n;
		if (r->ops && r->ops->taken)
			r->ops->taken(r, r->out.len);
		return true;
	}
	c->streams = false;
	if (c->in_chunks)
		buf_str(&c->out, "0\r\n\r\n");
	else if (r->reply.size != SIZE_UNKNOWN && r->sent != r->reply.size)
		c->at = AT_END; /* the client notices that bytes are missing */
	return true;
}

/* --- its head
 * ------------------------------------------------------------------------ */

static const char *reason_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *reason;
	} rows[] = {
		{ 200, "OK" }, { 201, "Created" }, { 202, "Accepted" },
		{ 204, "No Content" }, { 206, "Partial Content" },
		{ 304, "Not Modified" }, { 400, "Bad Request" },
		{ 401, "Unauthorized" }, { 403, "Forbidden" },
		{ 404, "Not Found" }, { 405, "Method Not Allowed" },
		{ 408, "Request Timeout" }, { 409, "Conflict" },
		{ 413, "Content Too Large" }, { 414, "URI Too Long" },
		{ 415, "Unsupported Media Type" },
		{ 416, "Range Not Satisfiable" },
		{ 422, "Unprocessable Content" }, { 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" }, { 501, "Not Implemented" },
		{ 502, "Bad Gateway" }, { 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" }, { 505, "HTTP Version Not Supported" },
		{ 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].status == status)
			return rows[i].reason;
	return "Unknown";
}

static void add_date(struct buf *out)
{
	time_t now = time(NULL);
	char text[64];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	buf_fmt(out, "Date: %s\r\n", text);
}

/* Adds a header. A value may contain text of a client, so line ends are
 * refused. */
static void add_header(struct buf *out, const char *name, const char *value)
{
	if (!value[strcspn(value, "\r\n")])
		buf_fmt(out, "%s: %s\r\n", name, value);
}

static void add_headers(struct client *c, const struct reply *reply)
{
	if (reply->type)
		add_header(&c->out, "Content-Type", reply->type);
	/* a proxy must pass a stream on at once, and store none of it */
	if (reply->streams) {
		add_header(&c->out, "X-Accel-Buffering", "no");
		add_header(&c->out, "Cache-Control", "no-store");
	}
	for (unsigned i = 0; i < reply->headers; i++)
		if (text_is(reply->header[i].name, "Connection"))
			c->keep = false;
		else
			add_header(&c->out, reply->header[i].name,
				   reply->header[i].value);
}

/* Adds the headers that tell where the body ends. */
static void add_framing(struct client *c, unsigned status, uint64_t size)
{
	c->in_chunks = size == SIZE_UNKNOWN && !c->old;
	if (c->in_chunks)
		buf_str(&c->out, "Transfer-Encoding: chunked\r\n");
	else if (size == SIZE_UNKNOWN)
		c->keep = false;
	else if (status != 204)
		buf_fmt(&c->out, "Content-Length: %llu\r\n",
			(unsigned long long)size);
	if (!c->keep)
		buf_str(&c->out, "Connection: close\r\n");
	else if (c->old)
		buf_str(&c->out, "Connection: keep-alive\r\n");
	buf_str(&c->out, "\r\n");
}

static void begin_head(struct client *c, unsigned status)
{
	buf_clear(&c->out);
	c->out_at = c->body_at = c->body_len = 0;
	c->streams = false;
	buf_fmt(&c->out, "HTTP/1.1 %u %s\r\n", status, reason_of(status));
	add_date(&c->out);
}

void answer_text(struct client *c, unsigned status, const char *json)
{
	begin_head(c, status);
	add_header(&c->out, "Content-Type", "application/json");
	add_framing(c, status, strlen(json));
	if (!c->head_only)
		buf_str(&c->out, json);
}

void answer_reply(struct client *c)
{
	struct request *r = c->request;
	const struct reply *reply = &r->reply;

	begin_head(c, reply->status);
	add_headers(c, reply);
	add_framing(c, reply->status,
		    reply->streams ? reply->size : reply->body.len);
	c->streams = reply->streams && !c->head_only;
	if (!reply->streams && !c->head_only)
		r->sent = c->body_len = reply->body.len;
}
