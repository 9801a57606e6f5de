/* SPDX-License-Identifier: Apache-2.0 */
/* Listeners, connections and the bounds of both. Only http*.c know the library. */
#ifndef GATEWAY_HTTP_H
#define GATEWAY_HTTP_H

#include <stdint.h>

#include "layout/base/err.h"
#include "reactor.h"

#define HTTP_LISTENERS 24u
#define HTTP_CONNECTIONS 1024u
#define HTTP_OF_ADDRESS 512u   /* loopback has no limit of its own */
#define HTTP_SPARE 32u         /* more of either, which are told that they are too many */
#define HTTP_HEADER_BYTES (16u << 10)
#define HTTP_POOL (48u << 10)  /* a connection's memory: headers, one block */
#define HTTP_HEADERS_MS 10000u
#define HTTP_IDLE_S 75u
#define HTTP_LEFT_MS 100u      /* so often a client that went is looked at */
#define HTTP_BODY_MAX (8u << 20)
#define HTTP_CHUNK (128u << 10) /* of an upload, to a worker at a time */
#define HTTP_MOUNT_MS 30000u   /* so long a request waits for the mount */
#define HTTP_STOP_MS 5000u

struct gateway;
struct MHD_Daemon;

struct listener {
	struct gateway *gateway;
	struct reactor_source source;
	struct MHD_Daemon *daemon;
	int fd;
	char address[64];
	unsigned services; /* those that it serves, as in routes.h */
	bool keyless;
};

struct http {
	struct listener listener[HTTP_LISTENERS];
	unsigned listeners;
	struct list clients;  /* struct client */
	unsigned connections;
	struct list requests; /* struct request: under way */
	uint64_t by_status[6]; /* replies: 1xx to 5xx at their number */
};

/* "ADDR:PORT", with an IPv6 address in brackets. Return: 0 or negative errno. */
int http_listen(struct gateway *g, const char *address, unsigned services,
		bool keyless, struct err *err);
bool http_is_loopback(const char *address);
/* Once all listen. Return: 0 or negative errno. */
int http_start(struct gateway *g, struct err *err);
/* Takes no more connections. */
void http_quiesce(struct gateway *g);
void http_stop(struct gateway *g);

/* How long the library can wait, -1: for ever; then what it does next. */
int http_timeout(struct gateway *g);
void http_run(struct gateway *g);

#endif
