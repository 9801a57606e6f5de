/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes replies: bytes, JSON, and errors in the form that the route's clients
 * expect. On a worker in the handler, or on the loop.
 */
#include "request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/base/errors.h"
#include "fsd/gateway/base/frame.h"
#include "layout/base/cleanup.h"
#include "layout/base/health.h"
#include "layout/limits.h"
#include "route.h"

static void clear(struct request *r)
{
	buf_clear(&r->reply.body);
	r->reply.streams = false;
	r->reply.type = NULL;
}

void reply_text(struct request *r, unsigned status, const char *type,
		const char *text, size_t len)
{
	clear(r);
	r->reply.status = status;
	r->reply.type = type;
	if (buf_add(&r->reply.body, text, len) < 0)
		r->reply.status = 503;
}

void reply_taken(struct request *r, unsigned status, const char *type, struct buf *body)
{
	clear(r);
	buf_done(&r->reply.body);
	r->reply.status = status;
	r->reply.type = type;
	r->reply.body = *body;
	*body = (struct buf){ 0 };
}

void reply_empty(struct request *r, unsigned status)
{
	clear(r);
	r->reply.status = status;
}

void reply_json(struct request *r, unsigned status, json_t *json)
{
	clear(r);
	r->reply.status = status;
	r->reply.type = "application/json";
	if (!json || text_json(&r->reply.body, json) < 0) {
		clear(r);
		r->reply.status = 503;
	}
	json_decref(json);
}

void reply_header(struct request *r, const char *name, const char *value)
{
	struct header *h = &r->reply.header[r->reply.headers];

	for (unsigned i = 0; i < r->reply.headers; i++)
		if (!strcasecmp(r->reply.header[i].name, name))
			return;
	if (r->reply.headers == REPLY_HEADERS)
		return;
	h->name = strdup(name);
	h->value = strdup(value);
	if (h->name && h->value)
		r->reply.headers++;
}

static enum style style_of(const struct request *r)
{
	return r->route ? r->route->style : STYLE_REST;
}

/* Returns Connect's code for an HTTP status. */
static const char *connect_code(unsigned status)
{
	static const struct {
		unsigned status;
		const char *code;
	} rows[] = {
		{ 400, "invalid_argument" }, { 401, "unauthenticated" },
		{ 403, "permission_denied" }, { 404, "not_found" },
		{ 409, "already_exists" },   { 413, "resource_exhausted" },
		{ 415, "unimplemented" },    /* the client uses another codec */
		{ 429, "resource_exhausted" }, { 501, "unimplemented" },
		{ 502, "unavailable" },	     { 503, "unavailable" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].status == status)
			return rows[i].code;
	return "internal";
}

static void error_text(struct request *r, unsigned status, const char *code,
		       const char *text)
{
	json_t *message = text_string(text, strlen(text));

	if (style_of(r) == STYLE_CONNECT)
		reply_json(r, status, json_pack("{s:s, s:o}", "code",
						code ? code
						     : connect_code(status),
						"message", message));
	else
		reply_json(r, status, json_pack("{s:i, s:o}", "code",
						(int)status, "message",
						message));
}

void reply_error(struct request *r, unsigned status, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (style_of(r) == STYLE_TEXT)
		reply_text(r, status, "text/plain; charset=utf-8", text,
			   strlen(text));
	else
		error_text(r, status, NULL, text);
}

void reply_connect(struct request *r, const char *code, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	error_text(r, connect_status(code), code, text);
}

void reply_stream_error(struct request *r, const char *code, const char *text)
{
	auto_buf struct buf out = { 0 };

	frame_put_end(&out, code, text);
	reply_text(r, 200, "application/connect+json", out.data, out.len);
}

void reply_as_end(struct request *r)
{
	auto_json json_t *body = NULL;
	const char *code, *text;

	if (r->reply.status < 400)
		return;
	body = json_loadb(r->reply.body.data, r->reply.body.len, 0, NULL);
	code = text_member(body, "code");
	text = text_member(body, "message");
	reply_stream_error(r, code ? code : "internal", text ? text : "");
}

/* Appends the line of .fsd/health to an error's sentence, unless the mount is healthy. */
static void add_health(struct request *r, char *text, size_t size)
{
	auto_buf struct buf health = { 0 };
	size_t len = strlen(text);

	if (mount_line(&r->gateway->mount, ".fsd/health", &health) < 0 ||
	    !health.len || health_is_ok(health.data))
		return;
	snprintf(text + len, size - len, "; health: %.300s", health.data);
}

void reply_failure(struct request *r, int code, const char *sentence)
{
	const struct surface *s = surface_of(code);
	char text[TEXT_SENTENCE];

	text_outside(sentence, text);
	if (s->http == 503 && r->handed)
		add_health(r, text, sizeof(text));
	if (style_of(r) == STYLE_CONNECT)
		error_text(r, connect_status(s->connect), s->connect, text);
	else
		reply_error(r, s->http, "%s", text);
	if (s->again)
		reply_header(r, "Retry-After", "1");
}

void reply_stream(struct request *r, unsigned status, const char *type,
		  uint64_t size, const struct stream_ops *ops)
{
	clear(r);
	r->reply.status = status;
	r->reply.type = type;
	r->reply.streams = true;
	r->reply.size = size;
	r->ops = ops;
}

void reply_later(struct request *r, const struct stream_ops *ops)
{
	r->later = true;
	r->ops = ops;
}

int request_json(struct request *r, json_t **ret)
{
	struct err err = { 0 };
	int code = json_read(r->body.data ? r->body.data : "", r->body.len, 32,
			     NULL, ret, &err);

	if (code < 0) {
		reply_error(r, 400, "the body is no JSON: %s", err.text);
		return code;
	}
	if (json_is_object(*ret) && !text_has_nul(*ret))
		return 0;
	reply_error(r, 400, json_is_object(*ret)
		? "a string of the body has a NUL (\\u0000), which no member here "
		  "can have"
		: "the body must be a JSON object");
	json_decref(*ret);
	*ret = NULL;
	return -EINVAL;
}

json_t *request_timeout(const struct request *r)
{
	const char *text = request_header(r, "Connect-Timeout-Ms");
	uint64_t ms = 0;

	if (!text || parse_u64(text, 1, DEFAULT_TIMEOUT_MAX_MS, &ms) < 0)
		return json_real(0);
	return json_real((double)MAX(ms, LIMIT_TIMEOUT_MIN_MS) / 1000);
}
