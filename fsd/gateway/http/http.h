/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners, connections and the bounds of both. */
#ifndef GATEWAY_HTTP_H
#define GATEWAY_HTTP_H

#include <stdint.h>

#include "fsd/gateway/base/reactor.h"
#include "fsd/gateway/base/share.h"
#include "layout/base/err.h"

#define HTTP_LISTENERS 24u
#define HTTP_CONNECTIONS 1024u
#define HTTP_OF_ADDRESS 512u   /* loopback has no limit of its own */
#define HTTP_SPARE 32u         /* more of either, which are told that they are too many */
#define HTTP_HEADERS_MS 10000u /* for a head, from its first byte */
#define HTTP_IDLE_MS 75000u    /* without a request, or a reply that is not read */
#define HTTP_LINGER_MS 2000u   /* so long a client may take to see the last reply */
#define HTTP_BODY_MS 30000u    /* in each such time a body has to bring */
#define HTTP_BODY_LEAST (30u << 10) /* so many bytes, or its end */
#define HTTP_REST (1u << 20)    /* of a body whose request was refused: it is read */
#define HTTP_BODY_MAX (8u << 20)
#define HTTP_BODY_GET (64u << 10)
#define HTTP_CHUNK (128u << 10) /* of an upload, to a worker at a time */
#define HTTP_LATE_MS 2000u     /* behind CREW_MS: a worker that was interrupted answers */
#define HTTP_STOP_MS 5000u
/* Bytes of all bodies, lists, results and answers of watchers that are held at a time. */
#define HTTP_BUDGET (512u << 20)
#define HTTP_REPLY_FREE (64u << 10) /* of one answer that is not read; it is in no budget */
#define HTTP_STREAM_FREE (2u << 20) /* of one stream */

struct gateway;
struct route;

struct listener {
	struct gateway *gateway;
	struct reactor_source source;
	int fd;
	bool paused; /* it is not looked at: there are too many connections */
	char address[64];
	unsigned services; /* those that it serves, as in route.h */
	bool keyless;
};

struct http {
	const struct route *routes; /* borrowed; the last row has no path */
	struct listener listener[HTTP_LISTENERS];
	unsigned listeners;
	struct list clients;  /* struct client; the one that came last at the end */
	struct list ready;    /* those that can go on */
	unsigned connections;
	struct list requests; /* struct request: under way */
	struct shares budget; /* of HTTP_BUDGET */
	uint64_t by_status[6]; /* replies: 1xx to 5xx at their number */
};

/* First. Its memory stays until the process ends: a request whose job continues points to the
 * budget. Return: 0 or -ENOMEM. */
int http_open(struct gateway *g);
/* "ADDR:PORT", with an IPv6 address in brackets. Return: 0 or negative errno. */
int http_listen(struct gateway *g, const char *address, unsigned services,
		bool keyless, struct err *err);
bool http_is_loopback(const char *address);
/* Once all listen. routes: the table that requests are looked up in, borrowed. Return: 0
 * or negative errno. */
int http_start(struct gateway *g, const struct route *routes, struct err *err);
/* Takes no more connections. */
void http_quiesce(struct gateway *g);
void http_stop(struct gateway *g);
/* Is no request under way? */
bool http_is_idle(const struct gateway *g);
/* Has a worker a request? */
bool http_has_workers(const struct gateway *g);
/* Behind each turn of the loop: connections go on. */
void http_run(struct gateway *g);

#endif
