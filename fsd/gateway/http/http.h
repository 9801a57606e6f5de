/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners, connections and their limits. All functions run on the loop. */
#ifndef GATEWAY_HTTP_H
#define GATEWAY_HTTP_H

#include <stdint.h>

#include "fsd/gateway/base/reactor.h"
#include "fsd/gateway/base/share.h"
#include "layout/base/err.h"

#define HTTP_LISTENERS 24u
#define HTTP_CONNECTIONS 1024u
#define HTTP_OF_ADDRESS 512u /* most connections of one address; loopback has no limit */
/* further connections; they get the reply that there are too many */
#define HTTP_SPARE 32u
#define HTTP_HEADERS_MS 10000u /* most time for a request's head, from its first byte */
/* most time without a request, or with a reply that the client does not read */
#define HTTP_IDLE_MS 75000u
#define HTTP_LINGER_MS 2000u /* time for a client to read the last reply */
/* in each HTTP_BODY_MS at least HTTP_BODY_LEAST bytes of a body, or its end, must come */
#define HTTP_BODY_MS 30000u
#define HTTP_BODY_LEAST (30u << 10)
/* most bytes read of a body whose request was refused */
#define HTTP_REST (1u << 20)
#define HTTP_BODY_MAX (8u << 20)
#define HTTP_BODY_GET (64u << 10)
/* piece of an upload, for one call of a worker */
#define HTTP_CHUNK (128u << 10)
/* Time after CREW_MS in which an interrupted worker must answer. */
#define HTTP_LATE_MS 2000u
#define HTTP_STOP_MS 5000u
/*
 * Most bytes at one time of all bodies, parsed JSON, lists, results and unread replies.
 */
#define HTTP_BUDGET (512u << 20)
/* an unread reply of at most this many bytes is not counted in the budget */
#define HTTP_REPLY_FREE (64u << 10)
#define HTTP_STREAM_FREE (2u << 20) /* the same for the unread bytes of a stream */

struct gateway;
struct route;

struct listener {
	struct gateway *gateway;
	struct reactor_source source;
	int fd;
	bool paused; /* the listener is not polled: there are too many connections */
	char address[64];
	unsigned services; /* services that it serves, as in route.h */
	bool keyless;
};

struct http {
	const struct route *routes; /* borrowed; the last row has no path */
	struct listener listener[HTTP_LISTENERS];
	unsigned listeners;
	struct list clients; /* struct client; last: the newest, or last answered */
	struct list ready; /* clients that can continue */
	unsigned connections;
	struct list requests; /* running ones (struct request) */
	struct list tunnels; /* struct tunnel */
	struct shares budget; /* shares of HTTP_BUDGET */
	uint64_t by_status[6]; /* replies by the first digit of their status */
};

/* Call it first. Its memory stays until the process ends: a request whose job
 * continues uses the budget. Return: 0 or -ENOMEM. */
int http_open(struct gateway *g);
/* Listens on "ADDR:PORT", with an IPv6 address in brackets. Return: 0 or
 * negative errno. */
int http_listen(struct gateway *g, const char *address, unsigned services,
		bool keyless, struct err *err);
bool http_is_loopback(const char *address);
/* Starts to serve; call it when all listeners are open. routes: borrowed.
 * Return: 0 or negative errno. */
int http_start(struct gateway *g, const struct route *routes, struct err *err);
/* Accepts no more connections. */
void http_quiesce(struct gateway *g);
void http_stop(struct gateway *g);
/* Returns whether no request is running. */
bool http_is_idle(const struct gateway *g);
/* Returns whether a worker has a request. */
bool http_has_workers(const struct gateway *g);
/* Continues connections; call it after each turn of the loop. */
void http_run(struct gateway *g);

#endif
