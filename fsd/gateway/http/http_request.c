/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request from its head to its handler: checks of the head, the guard, the
 * body and its limits, the passing to a worker and back. No byte of a body is
 * kept before the guard has passed. All functions run on the loop, except those
 * of crew_work.
 */
#include "http_int.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/gateway/base/errors.h"
#include "fsd/gateway/jobs/sandbox.h"
#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "locate.h"
#include "route.h"

/* Bytes that jansson needs for a JSON value and for a container, and for a body with
 * LIMIT_VALUE_PARTS of them. A body of at most JSON_FREE bytes is not counted. */
#define JSON_VALUE 72u
#define JSON_CONTAINER 240u
#define JSON_MOST (144u << 20)
#define JSON_FREE (64u << 10)

static bool add_header(struct request *r, const struct head_field *f)
{
	struct header *h = &r->header[r->headers];

	h->name = strdup(f->name);
	h->value = strdup(f->value);
	r->headers++;
	return h->name && h->value;
}

static void take_target(struct request *r, const char *target)
{
	int error = target_parse(target, &r->target);

	if (error == -E2BIG)
		reply_error(r, 414, "the path has more than %u parts or the "
			    "query more than %u", TARGET_PARTS, TARGET_QUERIES);
	else if (error < 0)
		reply_error(r, 400, "the target of the request has a wrong "
			    "%%XX, a NUL or a part \"..\"");
}

/* Port traffic: only the program knows what its targets mean. */
static void pass_target(struct request *r, const char *target)
{
	r->raw_target = strdup(target);
	if (!r->raw_target || target_parse("/", &r->target) < 0)
		reply_error(r, 503, "no memory for a request");
	else if (*target != '/' && strcmp(target, "*") != 0)
		reply_error(r, 400, "the target of a request to a port begins with \"/\"");
}

struct request *request_new(struct client *c, const struct head *h)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->refs = 1;
	r->gateway = c->gateway;
	r->listener = c->listener;
	r->client = c;
	r->begun_ms = text_now_ms();
	r->body.cap = r->reply.body.cap = UINT32_MAX;
	r->out.cap = UINT32_MAX;
	list_add_tail(&c->gateway->http->requests, &r->node);
	snprintf(r->method, sizeof(r->method), "%s",
		 c->head_only ? "GET" : h->method);
	for (unsigned i = 0; i < h->fields; i++)
		if (!add_header(r, &h->field[i]))
			reply_error(r, 503, "no memory for a request");
	r->port = request_names_port(r);
	if (r->port)
		pass_target(r, h->target);
	else
		take_target(r, h->target);
	return r;
}

/* --- the head ------------------------------------------------------------------- */

static void allow_origin(struct request *r, const char *origin)
{
	reply_header(r, "Access-Control-Allow-Origin", origin);
	reply_header(r, "Vary", "Origin");
}

/* Answers a browser's CORS preflight. */
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
	} else if (r->port) {
		/* the sandbox's own site: its program decides who may ask */
	} else if (origin && !origin_is_ours(hosts, origin, host)) {
		reply_error(r, 403, "the origin \"%.100s\" may not ask here; "
			    "--allow-origin names more", origin);
	} else if (origin && origin_is_allowed(hosts, origin)) {
		if (!strcmp(r->method, "OPTIONS"))
			preflight(r);
		allow_origin(r, origin);
	}
}

/* Returns X-API-Key, or Authorization: Bearer. */
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

	if (!request_locate(r, &services))
		return;
	r->route = route_find(r->gateway->http->routes, r->method, &r->target, services,
			      r->part, &other);
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
}

static size_t body_max(const struct request *r)
{
	if (r->route->chunk)
		return r->gateway->options.max_upload;
	if (!strcmp(r->route->method, "GET")) /* the handlers of GET read no body */
		return HTTP_BODY_GET;
	return r->route->body_max ? r->route->body_max : HTTP_BODY_MAX;
}

static void refuse_long(struct request *r)
{
	reply_error(r, 413, "the body is longer than %zu bytes", body_max(r));
}

/*
 * Sets the owner whose share of workers and memory the request uses: the
 * sandbox's owner, else the key's, else the address. Health and metrics have a
 * share of their own.
 */
static void know_owner(struct request *r)
{
	const char *owner = text_member(r->sandbox ? r->sandbox->meta : NULL, "owner");
	char *to = r->work.owner;

	owner = owner ? owner : r->caller.owner;
	if (*owner)
		snprintf(to, SHARE_OWNER, "k:%s", owner);
	else if (r->sandbox)
		snprintf(to, SHARE_OWNER, "s:%s", r->sandbox->name);
	else if (!r->route->key && !r->route->guard)
		snprintf(to, SHARE_OWNER, "g:%s", r->route->path);
	else
		snprintf(to, SHARE_OWNER, "a:%.46s", r->client->address);
}

static void check_head(struct request *r, const struct head *h)
{
	check_origin(r);
	if (!r->reply.status && r->client->spare)
		refuse_spare(r);
	if (!r->reply.status && r->gateway->stopping)
		reply_error(r, 503, "the gateway is stopping");
	if (!r->reply.status)
		find_route(r);
	if (!r->reply.status)
		check_key(r);
	if (!r->reply.status && !r->route->tunnel && h->length > body_max(r))
		refuse_long(r);
}

/* --- workers ------------------------------------------------------------------------ */

/* Fires when a worker does not return because the mount ignores the interrupt,
 * or when all workers of this owner's share are busy. */
static void on_bound(struct reactor_timer *timer)
{
	struct request *r = container_of(timer, struct request, bound);

	if (!crew_take_back(&r->gateway->crew, &r->work)) {
		/* the worker still uses r->reply, so another one is sent */
		request_answer(r);
		return;
	}
	r->handed = false;
	reply_error(r, 429, "other requests of this client wait for machines or for "
		    "the mount, and have all workers that one may have");
	reply_header(r, "Retry-After", "1");
	request_answer(r);
	request_unref(r);
}

static void hand_over(struct request *r, bool light, void (*run)(struct crew_work *),
		      void (*done)(struct crew_work *))
{
	request_ref(r);
	r->handed = true;
	r->work.light = light;
	r->work.run = run;
	r->work.done = done;
	r->bound.fn = on_bound;
	reactor_timer_set(&r->gateway->reactor, &r->bound, CREW_MS + HTTP_LATE_MS);
	crew_put(&r->gateway->crew, &r->work);
}

/* Takes the request back from a worker. */
static void take_over(struct request *r)
{
	reactor_timer_stop(&r->bound);
	r->handed = false;
	if (r->work.late && r->reply.status >= 400) {
		reply_error(r, 503, CREW_LATE);
		reply_header(r, "Retry-After", "1");
	}
}

/* Continues after a piece of an upload. */
static void chunk_done(struct crew_work *work)
{
	struct request *r = container_of(work, struct request, work);

	buf_clear(&r->body);
	take_over(r);
	if (r->reply.status && !r->answered)
		request_answer(r);
	answer_resume(r);
	request_unref(r);
}

static void chunk_run(struct crew_work *work)
{
	struct request *r = container_of(work, struct request, work);

	r->route->chunk(r, r->body.data, r->body.len);
}

/* Lets an upload remove its part before the client gets the refusal. */
void request_refused(struct request *r)
{
	if (r->route->chunk && r->state)
		hand_over(r, false, chunk_run, chunk_done);
	else
		request_answer(r);
}

/* --- the guard ---------------------------------------------------------------------- */

static void reply_late(struct request *r, const char *what)
{
	reply_error(r, 429, "%s take as much memory as they may; try again when some "
		    "are done", what);
	reply_header(r, "Retry-After", "1");
}

/* Takes memory for the body. Return: false: it has replied. */
static bool hold_body(struct request *r, size_t size)
{
	if (request_hold(r, size)) {
		r->body_held += size;
		return true;
	}
	reply_late(r, "the bodies of this client's requests");
	request_refused(r);
	return false;
}

/* Starts to read the body. */
static void begin_body(struct request *r)
{
	size_t first = r->route->chunk ? MIN(r->length, 2 * HTTP_CHUNK) : r->length;

	know_owner(r);
	snprintf(r->held.owner, sizeof(r->held.owner), "%s", r->work.owner);
	r->held.shares = &r->gateway->http->budget;
	hold_body(r, first);
	answer_resume(r);
}

static void guard_run(struct crew_work *work)
{
	struct request *r = container_of(work, struct request, work);

	if (!r->route->guard(r) && !r->reply.status)
		reply_error(r, 500, "the request has no answer");
}

static void guard_done(struct crew_work *work)
{
	struct request *r = container_of(work, struct request, work);

	take_over(r);
	if (r->reply.status && !r->answered)
		request_answer(r);
	else if (!r->answered && r->client && r->route->tunnel)
		r->route->tunnel(r);
	else if (!r->answered && r->client)
		begin_body(r);
	request_unref(r);
}

void request_begin(struct request *r, const struct head *h)
{
	if (!r->reply.status)
		check_head(r, h);
	if (r->reply.status) {
		request_answer(r);
		return;
	}
	r->length = (size_t)h->length;
	if (!r->route->guard) {
		begin_body(r);
		return;
	}
	know_owner(r);
	hand_over(r, true, guard_run, guard_done);
}

/* --- the body ----------------------------------------------------------------------- */

bool request_body(struct request *r, const char *data, size_t len)
{
	size_t need = r->body.len + len;

	r->received += len;
	if (r->received > body_max(r)) {
		refuse_long(r);
		request_refused(r);
		return true;
	}
	if (need > r->body_held && !hold_body(r, need - r->body_held))
		return true;
	if (buf_add(&r->body, data, len) < 0)
		return false;
	if (r->route->chunk && r->body.len >= HTTP_CHUNK)
		hand_over(r, false, chunk_run, chunk_done);
	return true;
}

/* --- the handler
 * ---------------------------------------------------------------------- */

/* Returns the memory that the JSON library needs for a body: several times its
 * length, by the number of values and containers. */
static size_t json_bytes(const struct buf *body)
{
	size_t values = 1, containers = 0;

	for (size_t i = 0; i < body->len; i++) {
		char c = body->data[i];

		values += c == ',' || c == ':';
		containers += c == '{' || c == '[';
	}
	return MIN(values * JSON_VALUE + containers * JSON_CONTAINER,
		   (size_t)JSON_MOST);
}

/* Takes memory of the budget for the parsed body; drop_body() gives it back. */
static bool hold_json(struct request *r)
{
	size_t bytes = r->body.len > JSON_FREE ? json_bytes(&r->body) : 0;

	if (!request_hold(r, bytes)) {
		reply_late(r, "the bodies of this client's requests");
		return false;
	}
	r->body_held += bytes;
	return true;
}

static void handler_run(struct crew_work *work)
{
	struct request *r = container_of(work, struct request, work);

	if (!r->route->chunk && !hold_json(r))
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

/* Frees the body, when the handler has used it. */
static void drop_body(struct request *r)
{
	buf_done(&r->body);
	holding_set(&r->held, r->held.amount - r->body_held);
	r->body_held = 0;
}

static void handler_done(struct crew_work *work)
{
	struct request *r = container_of(work, struct request, work);

	take_over(r);
	drop_body(r);
	begin_reply(r);
	request_unref(r);
}

/* Takes memory of the budget for the reply: a client may read it slowly, or never. */
static bool hold_reply(struct request *r)
{
	size_t len = r->reply.body.len;

	return r->handed || r->answered || r->reply.streams || len <= HTTP_REPLY_FREE ||
	       len <= r->held.amount || !r->held.shares || holding_set(&r->held, len);
}

void request_answer(struct request *r)
{
	if (!hold_reply(r)) {
		buf_done(&r->reply.body);
		reply_late(r, "answers that this client has not read");
	}
	r->answered = true;
	answer_resume(r);
}

void request_whole(struct request *r)
{
	if (!r->route->quick) {
		hand_over(r, r->route->light, handler_run, handler_done);
		return;
	}
	r->route->handler(r);
	begin_reply(r);
}

/* --- its end
 * ------------------------------------------------------------------------- */

void request_client_gone(struct request *r)
{
	/* if a worker has the request, handler_done() sees that the client is gone */
	if (!r->handed && r->ops)
		answer_gone(r);
}

static void log_line(const struct request *r, const char *address)
{
	char sandbox[8] = "-";

	/* our own ids have only these characters */
	if (isalnum((unsigned char)*r->sandbox_id))
		snprintf(sandbox, sizeof(sandbox), "%.*s",
			 (int)MIN(strspn(r->sandbox_id, "abcdefghijklmnopqrstuvwxyz"
					 "0123456789_"), 4u), r->sandbox_id);
	log_info("%s %s %s %s %s %u %llu %lld ms", address,
		 *r->caller.label ? r->caller.label : "-", r->method,
		 r->route ? r->route->path : "-", sandbox,
		 r->handed ? 503 : r->reply.status,
		 (unsigned long long)r->sent,
		 (long long)(text_now_ms() - r->begun_ms));
}

void request_over(struct request *r)
{
	struct http *h = r->gateway->http;

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
