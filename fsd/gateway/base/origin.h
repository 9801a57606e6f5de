/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names a request may have in Host and Origin. A page of another site that makes
 * a browser ask us (DNS rebinding, a form) has its own name there. Pure.
 */
#ifndef GATEWAY_ORIGIN_H
#define GATEWAY_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

#define HOSTS_MAX 32u

struct hosts {
	const char *domain;                /* or NULL */
	const char *host[HOSTS_MAX];       /* --allow-host, and what we listen on */
	unsigned hosts;
	const char *origin[HOSTS_MAX];     /* --allow-origin */
	unsigned origins;
	unsigned port[HOSTS_MAX];          /* that we listen on */
	unsigned ports;
};

/* "name:80", "[::1]:80", "name" to the name without its port. */
bool host_name(const char *text, char *ret, size_t size);
/* A Host header; NULL: it was not sent. */
bool host_is_ours(const struct hosts *h, const char *host);
/* An Origin header: one that is allowed, or a page of ours: http, a host of ours and a
 * port that we listen on, or the place that Host names if that is another port, of a
 * tunnel or proxy. host: the Host header; NULL: none. */
bool origin_is_ours(const struct hosts *h, const char *origin, const char *host);
/* One of --allow-origin: it gets CORS headers. */
bool origin_is_allowed(const struct hosts *h, const char *origin);

/* The first label of a host under the domain, "49999-ID": its port and id. With
 * domain NULL any host of that form counts. Return: false: it has no such label. */
bool host_label(const struct hosts *h, const char *host, unsigned *port,
		char *id, size_t size);

#endif
