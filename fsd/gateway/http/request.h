/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request, from its first line to its last byte. The loop owns it. While
 * its handler runs on a worker, the handler owns it, and the connection is
 * suspended.
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
	/* The handler has returned. After reply_stream() the head is sent next; after
	 * reply_later() there may be no reply yet. */
	void (*begun)(struct request *r);
	/* The client is gone, or will never read the reply. Called once; no
	 * event follows. */
	void (*gone)(struct request *r);
	/* Fewer bytes wait than before, down to 0. */
	void (*taken)(struct request *r, size_t waiting);
	/* No byte was sent for quiet_ms. */
	void (*quiet)(struct request *r);
	uint64_t quiet_ms; /* 0: never */
};

struct header {
	char *name, *value; /* owned */
};

struct reply {
	unsigned status; /* 0: no reply yet */
	const char *type;  /* Content-Type; NULL: none */
	struct buf body;
	struct header header[REPLY_HEADERS];
	unsigned headers;
	bool streams;
	uint64_t size; /* bytes of the whole stream, for Content-Length; or SIZE_UNKNOWN */
};

/* The target of port traffic; the guard sets it. */
struct tunnel_way {
	int fd;     /* owned: connected to the program, nonblocking; -1: taken */
	char *host; /* owned: Host of the sandbox's request; NULL: as it came */
};

struct request {
	struct gateway *gateway;
	const struct listener *listener;
	char method[16];
	struct target target;
	char *raw_target; /* owned: as sent, of port traffic */
	unsigned port; /* port of the sandbox for port traffic; 0: other traffic */
	struct header header[HEAD_HEADERS];
	unsigned headers;
	const struct route *route;
	/* the parts of the path that match each {} of the route's path */
	const char *part[TARGET_PARTS];
	struct caller caller;
	char sandbox_id[64]; /* the sandbox named in the request; "": none */
	struct sandbox *sandbox; /* owned; once the route's guard has found it */
	struct buf body;
	struct reply reply;
	void *state; /* the handler's; freed by state_free */
	void (*state_free)(void *state);

	/* --- used by http*.c -------------------------------------------- */
	struct client *client; /* NULL: the connection is closed */
	atomic_uint refs;
	bool handed, later, answered, gone, ended, cut;
	size_t length; /* bytes of the body, from the head; 0: none, or chunked */
	size_t body_held; /* bytes of `held` for the body */
	struct holding held; /* share of the budget, for work.owner */
	uint64_t received, sent;
	int64_t begun_ms;
	const struct stream_ops *ops;
	struct buf out; /* bytes of the stream that wait */
	struct reactor_timer timer, bound;
	struct crew_work work;
	struct list node; /* link in the list of running requests */
};

/* --- reading it; any thread --------------------------------------------- */

const char *request_header(const struct request *r, const char *name);
const char *request_query(const struct request *r, const char *name);
/*
 * Parses the body, which must be an object. Return: 0, or < 0: it has replied.
 */
int request_json(struct request *r, json_t **ret);
/* Makes a job's "timeout" from the header Connect-Timeout-Ms. A value above a job's
 * limit counts as none (0): then the sandbox's end limits the job. */
json_t *request_timeout(const struct request *r);
/* Takes more bytes of the budget for the request, until the request ends. Return: false:
 * the share of the request's owner does not allow that now. */
bool request_hold(struct request *r, size_t more);
/* Makes *ret an empty holding for the same owner, for an answer that lives
 * longer than its handler. On a worker, in the handler. */
void request_share(const struct request *r, struct holding *ret);
/* Moves what `from` holds to the request. On the loop. */
void request_take(struct request *r, struct holding *from);

/* --- replying; in the handler, or on the loop for a later reply --------- */

void reply_text(struct request *r, unsigned status, const char *type,
		const char *text, size_t len);
/* The same; takes the bytes of body. */
void reply_taken(struct request *r, unsigned status, const char *type, struct buf *body);
void reply_empty(struct request *r, unsigned status);
/* Takes json; NULL: no memory. */
void reply_json(struct request *r, unsigned status, json_t *json);
/* Replies an error in the form of the route's service. */
void reply_error(struct request *r, unsigned status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Replies an error with this Connect code, and with the HTTP status that belongs to it. */
void reply_connect(struct request *r, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Replies a Connect stream with only an error. */
void reply_stream_error(struct request *r, const char *code, const char *text);
/* Turns an error reply that was just made into a Connect stream with only that error. */
void reply_as_end(struct request *r);
/* Replies the mount's error, by errors.h. On a worker it adds .fsd/health if
 * that tells the cause. */
void reply_failure(struct request *r, int code, const char *sentence);
/* Adds a header to the reply; copies name and value. Drops it after REPLY_HEADERS, or if the
 * reply has one of that name. */
void reply_header(struct request *r, const char *name, const char *value);
/* Starts a stream: the head is sent when the handler returns, the rest comes by
 * stream_add(). */
void reply_stream(struct request *r, unsigned status, const char *type,
		  uint64_t size, const struct stream_ops *ops);
/* Delays the reply: it is made on the loop, then call request_answer(). */
void reply_later(struct request *r, const struct stream_ops *ops);
void request_answer(struct request *r);

/* --- streaming; on the loop --------------------------------------------- */

void stream_add(struct request *r, const void *data, size_t len);
size_t stream_waiting(const struct request *r);
/* Ends the stream normally. */
void stream_end(struct request *r);
/* Closes the connection without an end, so that the client notices the loss. */
void stream_cut(struct request *r);

/* --- references; release the last one on the loop ----------------------- */

struct request *request_ref(struct request *r);
void request_unref(struct request *r);

#endif
