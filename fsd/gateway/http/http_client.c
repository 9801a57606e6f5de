/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a connection: head, body, work, reply. Each step does what is
 * possible without waiting. If the reply is known before the body has come, it
 * is sent at once. Then a short rest of the body is read; a long one ends the
 * connection, and the client gets the answer while it still sends. All
 * functions run on the loop.
 */
#include "http_int.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"

#define LATE_TEXT "{\"code\":503,\"message\":\"" CREW_LATE "\"}"
#define TURNS 16u /* steps of one connection before the others get their turn */

static void set_clock(struct client *c, uint64_t ms)
{
	reactor_timer_set(&c->gateway->reactor, &c->clock, ms);
}

void client_gone(struct client *c)
{
	if (c->gone)
		return;
	c->gone = true;
	if (c->request)
		request_client_gone(c->request);
}

/* --- bytes ------------------------------------------------------------------------ */

bool client_recv(struct client *c)
{
	ssize_t n;

	if (!c->readable || c->eof || c->in.len >= CLIENT_IN ||
	    buf_reserve(&c->in, CLIENT_IN - c->in.len) < 0)
		return false;
	n = recv(c->fd, c->in.data + c->in.len, CLIENT_IN - c->in.len, 0);
	if (n > 0) {
		c->in.len += (size_t)n;
		return true;
	}
	if (n < 0 && errno == EINTR)
		return true;
	c->readable = false;
	c->eof = n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
	return c->eof;
}

bool client_send(struct client *c, const char *data, size_t len, size_t *at, bool more)
{
	while (*at < len) {
		ssize_t n = c->writable ? send(c->fd, data + *at, len - *at,
					       MSG_NOSIGNAL | (more ? MSG_MORE : 0))
					: -1;

		if (n > 0) {
			*at += (size_t)n;
			continue;
		}
		if (c->writable && errno == EINTR)
			continue;
		if (c->writable && errno != EAGAIN && errno != EWOULDBLOCK)
			c->at = AT_END;
		c->writable = false;
		return false;
	}
	return true;
}

/* --- the reply ---------------------------------------------------------------------- */

/*
 * Handles a reply that comes before the body has ended: a short rest is read.
 */
static void end_body(struct client *c)
{
	if (c->at != AT_BODY)
		c->left = 0;
	else if (c->chunked || c->continues || c->left > HTTP_REST)
		c->keep = false;
}

/* Starts a reply. json: a text that is not the request's own; NULL: the
 * request's reply. */
static void begin_reply(struct client *c, unsigned status, const char *json)
{
	end_body(c);
	c->keep = c->keep && !c->eof && !c->gateway->stopping && !c->spare;
	if (json)
		answer_text(c, status, json);
	else
		answer_reply(c);
	c->at = AT_REPLY;
	set_clock(c, HTTP_IDLE_MS);
}

/* Refuses a wrong head, for which there is no request. */
static void refuse(struct client *c, unsigned status, const char *why)
{
	auto_json json_t *json = json_pack("{s:i, s:s}", "code", (int)status,
					   "message", why);
	auto_buf struct buf text = { 0 };

	log_info("%s - - - - %u: %s", c->address, status, why);
	c->gateway->http->by_status[status / 100]++;
	c->keep = c->head_only = c->old = false;
	text_json(&text, json);
	begin_reply(c, status, text.data ? text.data : "");
}

static void reply_to(struct client *c)
{
	struct request *r = c->request;

	if (r->handed) /* a worker still uses its reply */
		begin_reply(c, 503, LATE_TEXT);
	else
		begin_reply(c, r->reply.status, NULL);
}

static void next_request(struct client *c)
{
	struct list *clients = &c->gateway->http->clients;

	c->at = AT_HEAD;
	list_del(&c->node);
	list_add_tail(clients, &c->node);
	set_clock(c, c->in.len ? HTTP_HEADERS_MS : HTTP_IDLE_MS);
}

static void end_reply(struct client *c)
{
	if (c->request)
		request_over(c->request);
	buf_done(&c->out);
	if (c->keep && c->left) {
		c->at = AT_REST;
		set_clock(c, HTTP_BODY_MS);
	} else if (c->keep) {
		next_request(c);
	} else {
		c->at = c->eof || shutdown(c->fd, SHUT_WR) < 0 ? AT_END : AT_LINGER;
		set_clock(c, HTTP_LINGER_MS);
	}
}

static bool step_reply(struct client *c)
{
	const char *body = c->body_len ? c->request->reply.body.data : NULL;
	size_t before = c->out_at + c->body_at;
	bool all = client_send(c, c->out.data, c->out.len, &c->out_at,
			     c->body_len > c->body_at) &&
		   client_send(c, body, c->body_len, &c->body_at, false);

	if (c->out_at + c->body_at > before)
		set_clock(c, HTTP_IDLE_MS);
	if (!all)
		return false;
	if (!c->streams) {
		end_reply(c);
		return true;
	}
	if (answer_more(c))
		return true;
	/* the client need not send or read now */
	reactor_timer_stop(&c->clock);
	return false;
}

/* --- the request
 * ---------------------------------------------------------------------- */

static void begin_request(struct client *c, const struct head *h)
{
	c->keep = h->keep;
	c->old = h->old;
	c->head_only = !strcmp(h->method, "HEAD");
	c->chunked = h->chunked;
	c->continues = h->continues && (h->chunked || h->length);
	c->left = h->length;
	c->chunks = (struct chunks){ 0 };
	c->seen = 0;
	c->request = request_new(c, h);
	if (!c->request) {
		c->at = AT_END;
		return;
	}
	if (c->request->port) /* the client's next request may be for another sandbox */
		c->keep = false;
	c->at = AT_BODY;
	set_clock(c, HTTP_BODY_MS);
	request_begin(c->request, h);
}

static bool step_head(struct client *c)
{
	struct head h;
	bool fresh = !c->in.len;
	long n = fresh ? 0 : head_parse(c->in.data, c->in.len, &h);

	if (n < 0) {
		refuse(c, h.status, h.why);
	} else if (n > 0) {
		begin_request(c, &h);
		buf_eat(&c->in, (size_t)n);
	} else if (c->eof) {
		c->at = AT_END;
	} else if (!client_recv(c)) {
		return false;
	} else if (fresh && c->in.len) {
		set_clock(c, HTTP_HEADERS_MS);
	}
	return true;
}

static bool body_is_over(const struct client *c)
{
	return c->chunked ? c->chunks.at == CHUNK_OVER : !c->left;
}

/* Passes on the part of the body that has come. Return: bytes of c->in that were used;
 * 0: more must come; < 0: the chunks are wrong, or no memory. */
static long take_body(struct client *c)
{
	const char *body = c->in.data;
	size_t size = (size_t)MIN((uint64_t)c->in.len, c->left);
	long n = c->chunked ? chunks_take(&c->chunks, c->in.data, c->in.len, &body,
					  &size) : (long)size;

	if (n > 0 && !c->chunked)
		c->left -= size;
	if (n > 0 && size && !request_body(c->request, body, size))
		return -1;
	return n;
}

/*
 * Sends 100-continue, for which the client waits before it sends the body. If the
 * socket takes no bytes now, clients send the body without it after a second or two.
 */
static void say_continue(struct client *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	size_t at = 0;

	c->continues = false;
	client_send(c, text, sizeof(text) - 1, &at, false);
}

static bool more_body(struct client *c)
{
	long n = take_body(c);

	if (n < 0) {
		/* the start of the next request is not known */
		c->keep = false;
		reply_error(c->request, 400, "the chunks of the body are wrong");
		request_refused(c->request);
		return true;
	}
	buf_eat(&c->in, (size_t)n);
	if (n > 0 || client_recv(c))
		return true;
	if (c->eof)
		c->at = AT_END;
	else if (c->continues)
		say_continue(c);
	return false;
}

static bool step_body(struct client *c)
{
	struct request *r = c->request;

	if (r->answered) {
		reply_to(c);
		return true;
	}
	if (r->handed)
		return false;
	if (!body_is_over(c))
		return more_body(c);
	c->at = AT_WORK;
	reactor_timer_stop(&c->clock);
	request_whole(r);
	return true;
}

static bool step_work(struct client *c)
{
	if (!c->request->answered)
		return false;
	reply_to(c);
	return true;
}

static bool step_rest(struct client *c)
{
	size_t n = (size_t)MIN((uint64_t)c->in.len, c->left);

	buf_eat(&c->in, n);
	c->left -= n;
	if (!c->left)
		next_request(c);
	else if (c->eof)
		c->at = AT_END;
	return !c->left || c->eof || client_recv(c);
}

static bool step_linger(struct client *c)
{
	buf_clear(&c->in);
	if (c->eof)
		c->at = AT_END;
	return c->eof || client_recv(c);
}

static bool step_tunnel(struct client *c)
{
	return c->tunnel->step(c);
}

static bool (*const steps[])(struct client *c) = {
	[AT_HEAD] = step_head, [AT_BODY] = step_body, [AT_WORK] = step_work,
	[AT_REPLY] = step_reply, [AT_TUNNEL] = step_tunnel, [AT_REST] = step_rest,
	[AT_LINGER] = step_linger,
};

void client_go(struct client *c)
{
	unsigned turns = 0;

	while (c->at != AT_END && turns < TURNS && steps[c->at](c))
		turns++;
	if (c->at == AT_END)
		client_close(c);
	else if (turns == TURNS)
		client_wake(c);
}

/* --- time
 * -------------------------------------------------------------------------------- */

/* Ends a body that comes too slowly. Not while it waits for a worker: that is
 * not the client's fault. */
static void look_at_body(struct client *c)
{
	struct request *r = c->request;
	bool moves = r->handed || r->received - c->seen >= HTTP_BODY_LEAST;

	c->seen = r->received;
	set_clock(c, HTTP_BODY_MS);
	if (moves || r->answered)
		return;
	reply_error(r, 408, "less than %u bytes of the body came in %u seconds",
		    HTTP_BODY_LEAST, HTTP_BODY_MS / 1000);
	request_refused(r);
}

void client_clock(struct client *c)
{
	if (c->at == AT_BODY) {
		look_at_body(c);
	} else if (c->at == AT_HEAD && c->in.len) {
		refuse(c, 408, "the head of the request did not come in 10 seconds");
		client_wake(c);
	} else {
		client_close(c);
	}
}
