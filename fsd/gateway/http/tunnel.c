/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the bytes of port traffic. Up: the head that proxy_head.c has made, then the body
 * to its end; later bytes of the client are not passed on. Down: heads of the answer (1xx
 * may come before the final one), then its body by length, by chunks or to the end of the
 * connection. After 101 both directions carry bytes of another protocol.
 *
 * A direction whose reader is slow stops its source, so TUNNEL_BYTES wait at most. Owns
 * the program's socket. All functions run on the loop.
 */
#include "tunnel.h"
#include "http_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fsd/gateway/base/proxy_head.h"
#include "fsd/gateway/jobs/sandbox.h"
#include "layout/base/cleanup.h"
#include "layout/base/num.h"

enum framing { BODY_NONE, BODY_LENGTH, BODY_CHUNKS, BODY_TO_END };

struct port_tunnel {
	struct tunnel tunnel; /* client->tunnel points here */
	struct list node; /* link in http->tunnels */
	struct client *client;
	struct reactor_source source;
	int fd;
	bool readable, writable, eof, failed;
	bool raw;      /* the answer 101 has come: bytes are passed unchanged */
	bool asked;    /* the whole request was put into `up` */
	bool answers;  /* the final head (not 1xx) came down */
	bool shut;     /* SHUT_WR was sent to the program, after 101 */
	struct buf up; /* bytes for the program */
	struct buf down; /* bytes from the program that were not passed on yet */
	enum framing framing; /* framing of the answer's body */
	uint64_t left;
	struct chunks chunks;
};

static void on_program(struct reactor_source *source, uint32_t events)
{
	struct port_tunnel *t = container_of(source, struct port_tunnel, source);

	t->readable |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	t->writable |= (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
	client_wake(t->client);
}

/* --- its beginning ------------------------------------------------------ */

/* Returns the name of the field that has a key of this gateway, which the program may
 * not see, or NULL. */
static const char *secret_field(struct request *r)
{
	const char *sent = request_header(r, "Authorization");
	struct caller unused;

	if (!sent || strncasecmp(sent, "Bearer ", 7) != 0)
		return NULL;
	return r->gateway->keys.file && keys_find(&r->gateway->keys, sent + 7, &unused)
		       ? "Authorization" : NULL;
}

static unsigned count_of(const struct http *h, const char *sandbox)
{
	unsigned count = 0;

	list_for_each(pos, tmp, &h->tunnels) {
		const struct port_tunnel *t = list_entry(pos, struct port_tunnel, node);

		count += t->client->request && t->client->request->sandbox &&
			 !strcmp(t->client->request->sandbox->name, sandbox);
	}
	return count;
}

static void put_head(struct port_tunnel *t, struct request *r, const char *host)
{
	struct head_field field[HEAD_HEADERS];
	struct proxy_request q = {
		.method = t->client->head_only ? "HEAD" : r->method,
		.target = r->raw_target, .old = t->client->old, .host = host,
		.address = t->client->address, .secret = secret_field(r),
	};

	for (unsigned i = 0; i < r->headers; i++)
		field[i] = (struct head_field){ r->header[i].name, r->header[i].value };
	q.upgrades = !q.old && proxy_upgrades(field, r->headers);
	proxy_request_put(&q, field, r->headers, &t->up);
}

static void tunnel_free(struct tunnel *tunnel)
{
	struct port_tunnel *t = container_of(tunnel, struct port_tunnel, tunnel);

	t->client->tunnel = NULL;
	list_del(&t->node);
	reactor_remove(&t->client->gateway->reactor, t->fd);
	fd_close(&t->fd);
	buf_done(&t->up);
	buf_done(&t->down);
	free(t);
}

static bool tunnel_step(struct client *c);

void tunnel_begin(struct request *r)
{
	struct tunnel_way *way = r->state;
	struct client *c = r->client;
	struct port_tunnel *t;

	if (count_of(r->gateway->http, r->sandbox->name) >= TUNNELS_OF_SANDBOX) {
		reply_error(r, 429, "%u connections to ports of this sandbox are open, "
			    "as many as there may be", TUNNELS_OF_SANDBOX);
		request_answer(r);
		return;
	}
	t = calloc(1, sizeof(*t));
	if (!t) {
		reply_error(r, 503, "no memory for a connection");
		request_answer(r);
		return;
	}
	*t = (struct port_tunnel){ .tunnel = { tunnel_step, tunnel_free }, .client = c, .fd = take_fd(&way->fd), .writable = true,
			      .source.fn = on_program, .up.cap = TUNNEL_BYTES,
			      .down.cap = TUNNEL_BYTES };
	put_head(t, r, way->host);
	list_add(&r->gateway->http->tunnels, &t->node);
	c->tunnel = &t->tunnel;
	c->at = AT_TUNNEL;
	c->keep = false;
	t->failed = t->up.failed ||
		    reactor_add(&r->gateway->reactor, t->fd,
				EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				&t->source) < 0;
	reactor_timer_set(&r->gateway->reactor, &c->clock, TUNNEL_IDLE_MS);
	client_wake(c);
}

static void moved(struct port_tunnel *t)
{
	reactor_timer_set(&t->client->gateway->reactor, &t->client->clock,
			  TUNNEL_IDLE_MS);
}

/* --- up ------------------------------------------------------------------ */

/* Returns how many bytes of c->in belong to the request's body, < 0: its chunks are
 * wrong. */
static long take_request(struct client *c)
{
	const char *body;
	size_t size;

	if (c->chunked)
		return chunks_take(&c->chunks, c->in.data, c->in.len, &body, &size);
	size = (size_t)MIN((uint64_t)c->in.len, c->left);
	c->left -= size;
	return (long)size;
}

/* Moves bytes that the client has sent to `up`. Return: true if any. */
static bool fill_up(struct port_tunnel *t)
{
	struct client *c = t->client;
	long n = t->raw ? (long)c->in.len : t->asked ? 0 : take_request(c);

	if (!t->raw && !t->asked && n >= 0)
		t->asked = c->chunked ? c->chunks.at == CHUNK_OVER : !c->left;
	if (n < 0 || (n && buf_add(&t->up, c->in.data, (size_t)n) < 0))
		t->failed = true;
	if (n <= 0)
		return false;
	c->request->received += (size_t)n;
	buf_eat(&c->in, (size_t)n);
	return true;
}

/* Sends to the program. Return: true if bytes went. */
static bool send_up(struct port_tunnel *t)
{
	ssize_t n;

	if (!t->up.len || !t->writable)
		return false;
	n = send(t->fd, t->up.data, t->up.len, MSG_NOSIGNAL);
	if (n > 0) {
		buf_eat(&t->up, (size_t)n);
		moved(t);
	} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
		t->writable = false;
	} else if (errno != EINTR) {
		/* The program may have answered before it read everything. */
		t->writable = false;
		t->asked = true;
		buf_clear(&t->up);
	}
	return n > 0;
}

static bool go_up(struct port_tunnel *t)
{
	bool any = send_up(t);

	if (t->up.len < TUNNEL_BYTES - CLIENT_IN)
		any |= fill_up(t) || client_recv(t->client);
	if (t->raw && t->client->eof && !t->client->in.len && !t->up.len && !t->shut) {
		t->shut = true;
		shutdown(t->fd, SHUT_WR);
	}
	return any;
}

/* --- down ---------------------------------------------------------------- */

static bool read_down(struct port_tunnel *t)
{
	ssize_t n;

	if (!t->readable || t->eof || t->down.len >= CLIENT_IN ||
	    buf_reserve(&t->down, CLIENT_IN) < 0)
		return false;
	n = recv(t->fd, t->down.data + t->down.len, CLIENT_IN, 0);
	if (n > 0) {
		t->down.len += (size_t)n;
		moved(t);
		return true;
	}
	if (n < 0 && errno == EINTR)
		return true;
	t->readable = false;
	t->eof = n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
	return t->eof;
}

static void refuse(struct port_tunnel *t, const char *why)
{
	struct request *r = t->client->request;

	if (t->answers || t->client->out.len) { /* a head went down */
		t->failed = true;
		return;
	}
	reply_json(r, 502, json_pack("{s:s, s:s, s:i, s:i}", "sandboxId", r->sandbox_id,
				     "message", why, "port", (int)r->port, "code", 502));
	t->client->at = AT_WORK;
	r->answered = true;
}

static void begin_body(struct port_tunnel *t, const struct proxy_answer *a)
{
	struct client *c = t->client;

	t->answers = true;
	c->request->reply.status = a->status;
	t->left = a->head.length;
	if (c->head_only || a->status == 204 || a->status == 304)
		t->framing = BODY_NONE;
	else
		t->framing = a->head.chunked ? BODY_CHUNKS
			     : a->has_length ? BODY_LENGTH : BODY_TO_END;
}

/* Passes on a head. Return: true if one was there. */
static bool take_head(struct port_tunnel *t)
{
	struct client *c = t->client;
	struct proxy_answer a;
	long n = t->down.len ? proxy_answer_parse(t->down.data, t->down.len, &a) : 0;

	if (n < 0)
		refuse(t, "The program's answer is not HTTP/1.1");
	else if (n == 0 && t->eof)
		refuse(t, "The program has closed the connection without an answer");
	if (n <= 0)
		return false;
	proxy_answer_put(&a, &c->out);
	if (a.status == 101) {
		t->raw = t->answers = true;
		t->framing = BODY_TO_END;
		c->request->reply.status = 101;
	} else if (a.status >= 200) {
		begin_body(t, &a);
	}
	buf_eat(&t->down, (size_t)n);
	return true;
}

static bool body_is_over(const struct port_tunnel *t)
{
	switch (t->framing) {
	case BODY_NONE:
		return true;
	case BODY_LENGTH:
		return !t->left;
	case BODY_CHUNKS:
		return t->chunks.at == CHUNK_OVER;
	default:
		return t->eof && !t->down.len;
	}
}

/* Passes on bytes of the answer's body. */
static bool take_body(struct port_tunnel *t)
{
	struct client *c = t->client;
	size_t size = t->down.len;
	const char *body;
	long n;

	if (t->framing == BODY_LENGTH) {
		size = (size_t)MIN((uint64_t)size, t->left);
		t->left -= size;
	}
	n = t->framing == BODY_CHUNKS
		    ? chunks_take(&t->chunks, t->down.data, t->down.len, &body, &size)
		    : (long)size;
	if (n < 0 || (n == 0 && t->eof) ||
	    buf_add(&c->out, t->down.data, (size_t)n) < 0) {
		t->failed = true;
		return false;
	}
	c->request->sent += (size_t)n;
	buf_eat(&t->down, (size_t)n);
	return n > 0;
}

static bool go_down(struct port_tunnel *t)
{
	struct client *c = t->client;
	bool any = read_down(t);

	if (c->out.len < TUNNEL_BYTES - CLIENT_IN) {
		if (!t->answers)
			any |= (t->down.len || t->eof) && take_head(t);
		else if (t->down.len || (t->eof && !body_is_over(t)))
			any |= !body_is_over(t) && take_body(t);
	}
	return any;
}

/* --- a step ---------------------------------------------------------------- */

/* Sends to the client. Return: true if bytes went. */
static bool send_down(struct port_tunnel *t)
{
	struct client *c = t->client;
	size_t before = c->out.len;

	client_send(c, c->out.data, c->out.len, &c->out_at, false);
	if (c->out_at)
		moved(t);
	buf_eat(&c->out, c->out_at);
	c->out_at = 0;
	return c->out.len < before;
}

/* Returns whether the tunnel ends because the client has closed its direction. After 101
 * the other direction may continue, so only an error ends the tunnel. */
static bool is_given_up(const struct port_tunnel *t)
{
	const struct client *c = t->client;

	return c->at == AT_END || (c->eof && !t->raw && !c->in.len);
}

static bool tunnel_step(struct client *c)
{
	struct port_tunnel *t = container_of(c->tunnel, struct port_tunnel, tunnel);
	bool any = go_up(t);

	any |= go_down(t);
	if (c->at != AT_TUNNEL) { /* refused */
		tunnel_free(&t->tunnel);
		return true;
	}
	any |= send_down(t);
	if (t->failed || is_given_up(t)) {
		c->at = AT_END;
	} else if (t->answers && body_is_over(t) && !c->out.len) {
		tunnel_free(&t->tunnel);
		c->at = AT_REPLY; /* nothing of the reply is left: the tunnel ends */
		return true;
	}
	return any;
}
