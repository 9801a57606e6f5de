/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request from its first line to its handler: checks of the head, the body and its
 * bounds, the walk over a worker. A request that is refused is read to the end of its
 * body all the same, so that its client sees the answer.
 */
#include "http_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "routes.h"
#include "sandbox.h"

struct request *request_ref(struct request *r)
{
	atomic_fetch_add(&r->refs, 1);
	return r;
}

static void free_headers(struct header *h, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		free(h[i].name);
		free(h[i].value);
	}
}

void request_unref(struct request *r)
{
	if (atomic_fetch_sub(&r->refs, 1) > 1)
		return;
	if (r->state && r->state_free)
		r->state_free(r->state);
	sandbox_free(r->sandbox);
	free_headers(r->header, r->headers);
	free_headers(r->reply.header, r->reply.headers);
	buf_done(&r->reply.body);
	buf_done(&r->body);
	buf_done(&r->out);
	target_done(&r->target);
	free(r);
}

struct request *request_new(struct gateway *g, struct listener *l,
			    struct client *c, struct MHD_Connection *connection,
			    const char *uri)
{
	struct request *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return NULL;
	r->refs = 1;
	r->gateway = g;
	r->listener = l;
	r->client = c;
	r->connection = connection;
	r->begun_ms = text_now_ms();
	r->body.cap = r->reply.body.cap = UINT32_MAX;
	r->out.cap = UINT32_MAX;
	c->request = r;
	list_add_tail(&g->http.requests, &r->node);
	error = target_parse(uri, &r->target);
	if (error == -E2BIG)
		reply_error(r, 414, "the path has more than %u parts or the "
			    "query more than %u", TARGET_PARTS, TARGET_QUERIES);
	else if (error < 0)
		reply_error(r, 400, "the target of the request has a wrong "
			    "%%XX, a NUL or a part \"..\"");
	return r;
}

/* --- the head ------------------------------------------------------------------- */

struct head {
	struct request *request;
	size_t bytes;
	bool over;
};

/* Spaces around a field's value are no part of it; libmicrohttpd leaves those at its end. */
static char *copy_value(const char *value)
{
	size_t len;

	value += strspn(value, " \t");
	for (len = strlen(value); len && strchr(" \t", value[len - 1]); len--)
		;
	return strndup(value, len);
}

static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind,
				  const char *name, const char *value)
{
	struct head *head = arg;
	struct request *r = head->request;
	struct header *h = &r->header[r->headers];

	(void)kind;
	head->bytes += strlen(name) + (value ? strlen(value) : 0) + 4;
	if (r->headers == REQUEST_HEADERS || head->bytes > HTTP_HEADER_BYTES) {
		head->over = true;
		return MHD_NO;
	}
	h->name = strdup(name);
	h->value = copy_value(value ? value : "");
	r->headers++;
	return h->name && h->value ? MHD_YES : MHD_NO;
}

const char *request_header(const struct request *r, const char *name)
{
	for (unsigned i = 0; i < r->headers; i++)
		if (text_is(r->header[i].name, name))
			return r->header[i].value;
	return NULL;
}

const char *request_query(const struct request *r, const char *name)
{
	return target_query(&r->target, name);
}

static void allow_origin(struct request *r, const char *origin)
{
	reply_header(r, "Access-Control-Allow-Origin", origin);
	reply_header(r, "Vary", "Origin");
}

/* A browser asks whether it may ask. */
static void preflight(struct request *r)
{
	const char *wants = request_header(r, "Access-Control-Request-Headers");

	reply_empty(r, 204);
	reply_header(r, "Access-Control-Allow-Methods",
		     "GET, POST, PUT, PATCH, DELETE");
	if (wants)
		reply_header(r, "Access-Control-Allow-Headers", wants);
	reply_header(r, "Access-Control-Max-Age", "600");
}

static void check_origin(struct request *r)
{
	const struct hosts *hosts = &r->gateway->options.hosts;
	const char *host = request_header(r, "Host");
	const char *origin = request_header(r, "Origin");

	if (!host_is_ours(hosts, host)) {
		reply_error(r, 403, "the host \"%.100s\" is not one of this "
			    "gateway's; --allow-host or --domain names more",
			    host ? host : "");
	} else if (origin && !origin_is_ours(hosts, origin, host)) {
		reply_error(r, 403, "the origin \"%.100s\" may not ask here; "
			    "--allow-origin names more", origin);
	} else if (origin && origin_is_allowed(hosts, origin)) {
		if (!strcmp(r->method, "OPTIONS"))
			preflight(r);
		allow_origin(r, origin);
	}
}

/* X-API-Key, or Authorization: Bearer. */
static const char *sent_key(const struct request *r)
{
	const char *key = request_header(r, "X-API-Key");
	const char *bearer = request_header(r, "Authorization");

	if (key)
		return key;
	return bearer && !strncasecmp(bearer, "Bearer ", 7) ? bearer + 7 : NULL;
}

static void check_key(struct request *r)
{
	struct keys *keys = &r->gateway->keys;

	if (!r->route->key || r->listener->keyless)
		return;
	if (keys_find(keys, sent_key(r), &r->caller))
		return;
	if (sent_key(r))
		reply_error(r, 401, "the key is none of this gateway's");
	else
		reply_error(r, 401, "a key is needed, in X-API-Key or as "
			    "Authorization: Bearer");
}

static void find_route(struct request *r)
{
	unsigned services = r->listener->services;
	bool other = false;

	if (!sandbox_locate(r, &services))
		return;
	r->route = route_find(r->method, &r->target, services, r->part, &other);
	if (r->route)
		return;
	if (other)
		reply_error(r, 405, "%s is not possible for this path",
			    r->method);
	else
		reply_error(r, 404, "there is no such path here");
}

static void refuse_spare(struct request *r)
{
	reply_error(r, 429, "too many connections: this gateway has %u at most, and %u "
		    "of one other host; close one that is idle", HTTP_CONNECTIONS,
		    HTTP_OF_ADDRESS);
	reply_header(r, "Connection", "close");
}

static void check_head(struct request *r, const char *method)
{
	struct head head = { r, 0, false };

	snprintf(r->method, sizeof(r->method), "%s",
		 !strcmp(method, "HEAD") ? "GET" : method);
	MHD_get_connection_values(r->connection, MHD_HEADER_KIND, add_header,
				  &head);
	if (head.over)
		reply_error(r, 431, "the head of a request has at most %u "
			    "headers and %u KiB", REQUEST_HEADERS,
			    HTTP_HEADER_BYTES >> 10);
	if (!r->reply.status)
		check_origin(r);
	if (!r->reply.status && r->client->spare)
		refuse_spare(r);
	if (!r->reply.status && r->gateway->stopping)
		reply_error(r, 503, "the gateway is stopping");
	if (!r->reply.status)
		find_route(r);
	if (!r->reply.status)
		check_key(r);
	r->refused = r->reply.status != 0;
}

/* --- the body --------------------------------------------------------------------- */

static size_t body_max(const struct request *r)
{
	if (r->route && r->route->chunk)
		return r->gateway->options.max_upload;
	return r->route && r->route->body_max ? r->route->body_max
					      : HTTP_BODY_MAX;
}

static void suspend(struct request *r)
{
	if (!r->suspended)
		MHD_suspend_connection(r->connection);
	r->suspended = true;
}

/* A piece of an upload is done with. */
static void chunk_done(struct crew_work *work)
{
	struct request *r = container_of(work, struct request, work);

	buf_clear(&r->body);
	r->refused = r->reply.status != 0;
	r->handed = false;
	answer_resume(r);
	request_unref(r);
}

static bool pass_guard(struct request *r)
{
	return !r->route->guard || r->sandbox || r->route->guard(r);
}

static void chunk_run(struct crew_work *work)
{
	struct request *r = container_of(work, struct request, work);

	if (pass_guard(r))
		r->route->chunk(r, r->body.data, r->body.len);
}

static void hand_over(struct request *r, void (*run)(struct crew_work *),
		      void (*done)(struct crew_work *))
{
	suspend(r);
	request_ref(r);
	r->handed = true;
	r->work.group = &r->group;
	r->work.run = run;
	r->work.done = done;
	crew_put(&r->gateway->crew, &r->work);
}

static enum MHD_Result take_body(struct request *r, const char *data, size_t *len)
{
	size_t take = *len;

	/* MHD gives the chunks of a body that it has read already, though the
	 * connection is suspended. What is not taken is given again later. */
	if (r->handed)
		return MHD_YES;
	if (r->refused) {
		r->received += take;
		*len = 0;
		/* it is read to its end, so that the answer is seen, but not
		 * without an end */
		return r->received > MAX(2 * (size_t)HTTP_BODY_MAX, body_max(r))
			       ? MHD_NO
			       : MHD_YES;
	}
	r->received += take;
	if (r->received > body_max(r)) {
		reply_error(r, 413, "the body is longer than %zu bytes",
			    body_max(r));
		r->refused = true;
		r->received = 0;
		buf_clear(&r->body);
		*len = 0;
		return MHD_YES;
	}
	if (buf_add(&r->body, data, take) < 0)
		return MHD_NO;
	*len = 0;
	if (r->route->chunk && r->body.len >= HTTP_CHUNK)
		hand_over(r, chunk_run, chunk_done);
	return MHD_YES;
}

/* --- the handler ---------------------------------------------------------------------- */

static void on_bound(struct reactor_timer *timer)
{
	struct request *r = container_of(timer, struct request, bound);

	/* The worker still has r->reply: another one is sent. */
	r->answered = true;
	answer_resume(r);
}

static void handler_run(struct crew_work *work)
{
	struct request *r = container_of(work, struct request, work);

	if (!pass_guard(r))
		return;
	if (r->route->chunk && r->body.len &&
	    r->route->chunk(r, r->body.data, r->body.len) < 0)
		return;
	r->route->handler(r);
}

static void begin_reply(struct request *r)
{
	bool late = r->answered || r->gone || !r->client || r->client->gone;

	if (!r->reply.status && !r->later)
		reply_error(r, 500, "the request has no answer");
	if (r->ops && late) {
		answer_gone(r);
		return;
	}
	if (r->ops && r->ops->begun)
		r->ops->begun(r);
	answer_mind_quiet(r);
	if (r->reply.status && !r->answered)
		request_answer(r);
}

static void handler_done(struct crew_work *work)
{
	struct request *r = container_of(work, struct request, work);

	reactor_timer_stop(&r->bound);
	r->handed = false;
	begin_reply(r);
	request_unref(r);
}

void request_answer(struct request *r)
{
	r->answered = true;
	answer_resume(r);
}

static void run_handler(struct request *r)
{
	if (r->route->quick) {
		r->route->handler(r);
		if (!r->reply.status)
			suspend(r);
		begin_reply(r);
		return;
	}
	r->bound.fn = on_bound;
	reactor_timer_set(&r->gateway->reactor, &r->bound, HTTP_MOUNT_MS);
	hand_over(r, handler_run, handler_done);
}

enum MHD_Result request_access(struct request *r, const char *method,
			       const char *data, size_t *len)
{
	if (!r->checked) {
		r->checked = true;
		if (!r->reply.status)
			check_head(r, method);
		r->refused = r->reply.status != 0;
		return MHD_YES;
	}
	if (*len)
		return take_body(r, data, len);
	if (r->refused && !r->handed)
		r->answered = true;
	else if (!r->answered && !r->handed && !r->later && !r->ops)
		run_handler(r);
	return r->answered ? answer_queue(r) : MHD_YES;
}

/* --- its end ------------------------------------------------------------------------- */

void request_client_gone(struct request *r)
{
	/* a worker that has it hears of it when it is done */
	if (!r->handed && r->ops)
		answer_gone(r);
}

bool request_comes(const struct request *r)
{
	return !r->handed && !r->later && !r->answered && !r->ops;
}

static void log_line(const struct request *r, const char *address)
{
	char sandbox[8] = "-";

	if (*r->sandbox_id)
		snprintf(sandbox, sizeof(sandbox), "%.4s", r->sandbox_id);
	log_info("%s %s %s %s %s %u %llu %lld ms", address,
		 *r->caller.label ? r->caller.label : "-", r->method,
		 r->route ? r->route->path : "-", sandbox,
		 r->handed ? 503 : r->reply.status,
		 (unsigned long long)r->sent,
		 (long long)(text_now_ms() - r->begun_ms));
}

void request_over(struct request *r)
{
	struct http *h = &r->gateway->http;

	r->connection = NULL;
	request_client_gone(r);
	h->by_status[(r->handed ? 503 : r->reply.status) / 100 % 6]++;
	log_line(r, r->client ? r->client->address : "-");
	list_del(&r->node);
	reactor_timer_stop(&r->timer);
	reactor_timer_stop(&r->bound);
	if (r->client)
		r->client->request = NULL;
	r->client = NULL;
	r->gone = true;
	request_unref(r);
}
