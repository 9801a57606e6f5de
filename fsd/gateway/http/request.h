/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request, from its first line to its last byte. It is the loop's. While its
 * handler runs, on a worker, it is the handler's, and the connection is suspended.
 */
#ifndef GATEWAY_REQUEST_H
#define GATEWAY_REQUEST_H

#include <stdatomic.h>

#include "fsd/gateway/base/head.h"
#include "fsd/gateway/base/target.h"
#include "fsd/gateway/gateway.h"

#define REPLY_HEADERS 10u
#define SIZE_UNKNOWN UINT64_MAX

struct client;
struct listener;
struct route;
struct sandbox;
struct request;

/* Events while a reply is under way; all on the loop, each may be NULL. */
struct stream_ops {
	/* The handler has returned: the reply's head is being sent. */
	void (*begun)(struct request *r);
	/* The client has gone, or never comes to see the reply. Once; nothing else
	 * comes behind it. */
	void (*gone)(struct request *r);
	/* Less waits than before, down to 0. */
	void (*taken)(struct request *r, size_t waiting);
	/* Nothing was sent for quiet_ms. */
	void (*quiet)(struct request *r);
	uint64_t quiet_ms; /* 0: never */
};

struct header {
	char *name, *value; /* owned */
};

struct reply {
	unsigned status;   /* 0: there is none yet */
	const char *type;  /* Content-Type; NULL: none */
	struct buf body;
	struct header header[REPLY_HEADERS];
	unsigned headers;
	bool streams;
	uint64_t size;     /* of what streams */
};

struct request {
	struct gateway *gateway;
	const struct listener *listener;
	char method[16];
	struct target target;
	struct header header[HEAD_HEADERS];
	unsigned headers;
	const struct route *route;
	const char *part[TARGET_PARTS]; /* for each {} of the route's path */
	struct caller caller;
	char sandbox_id[64];     /* as the request names it; "": it names none */
	struct sandbox *sandbox; /* owned; once the route's guard has found it */
	struct buf body;
	struct reply reply;
	void *state;             /* the handler's; freed by */
	void (*state_free)(void *state);

	/* http.c's */
	struct client *client;   /* NULL: the connection is over */
	atomic_uint refs;
	bool handed, later, answered, gone, ended, cut;
	size_t length;           /* that the head tells; 0: none, or in chunks */
	size_t body_held;        /* of held */
	struct holding held;     /* of the budget; work.owner's */
	uint64_t received, sent;
	int64_t begun_ms;
	const struct stream_ops *ops;
	struct buf out;          /* what streams and waits */
	struct reactor_timer timer, bound;
	struct crew_work work;
	struct list node;        /* of all that are under way */
};

/* --- what it asks; any thread ---------------------------------------------- */

const char *request_header(const struct request *r, const char *name);
const char *request_query(const struct request *r, const char *name);
/* The body, which must be an object. Return: 0, or < 0 and the reply is there. */
int request_json(struct request *r, json_t **ret);
/* Connect-Timeout-Ms as the "timeout" of a job. More than a job may have is as good as
 * none, 0: then the sandbox's own end bounds it. */
json_t *request_timeout(const struct request *r);
/* So much more memory for its answer, from the budget of all. It has it until its end. On a
 * worker, in the handler. Return: false: that is more than its owner's share now. */
bool request_hold(struct request *r, size_t more);
/* Makes *ret an empty holding of the same budget and owner, for an answer that outlives its
 * handler. On a worker, in the handler. */
void request_share(const struct request *r, struct holding *ret);
/* On the loop: what another one holds for its answer is the request's from now on. */
void request_take(struct request *r, struct holding *from);

/* --- the reply; in the handler, or on the loop for one that came later --------- */

void reply_text(struct request *r, unsigned status, const char *type,
		const char *text, size_t len);
/* The same, and takes what is in body. */
void reply_taken(struct request *r, unsigned status, const char *type, struct buf *body);
void reply_empty(struct request *r, unsigned status);
/* Takes json; NULL: no memory. */
void reply_json(struct request *r, unsigned status, json_t *json);
/* An error in the form of the route's service. */
void reply_error(struct request *r, unsigned status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same by Connect's code. */
void reply_connect(struct request *r, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A stream of Connect that has an error and nothing else. */
void reply_stream_error(struct request *r, const char *code, const char *text);
/* The error that is the reply becomes one of those. */
void reply_as_end(struct request *r);
/* The mount's failure, by errors.h. On a worker it adds .fsd/health if that tells
 * why. */
void reply_failure(struct request *r, int code, const char *sentence);
/* Copies both. */
void reply_header(struct request *r, const char *name, const char *value);
/* The head leaves when the handler returns, the rest by stream_add(). */
void reply_stream(struct request *r, unsigned status, const char *type,
		  uint64_t size, const struct stream_ops *ops);
/* There is no reply yet: it comes from the loop, then request_answer(). */
void reply_later(struct request *r, const struct stream_ops *ops);
void request_answer(struct request *r);

/* --- what streams; on the loop ---------------------------------------------- */

void stream_add(struct request *r, const void *data, size_t len);
size_t stream_waiting(const struct request *r);
void stream_end(struct request *r); /* the whole was said */
void stream_cut(struct request *r); /* without an end, so that the client notices */

/* --- its life; the last reference goes on the loop ---------------------------------------------------- */

struct request *request_ref(struct request *r);
void request_unref(struct request *r);

#endif
