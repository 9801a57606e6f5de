/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the names in Host and Origin. If a page of another site makes a
 * browser call us (DNS rebinding, a form), these headers have that site's name.
 * Pure.
 */
#ifndef GATEWAY_ORIGIN_H
#define GATEWAY_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

#define HOSTS_MAX 32u

struct hosts {
	const char *domain;                /* value of --domain; NULL: not given */
	/* --allow-host, and the addresses that we listen on */
	const char *host[HOSTS_MAX];
	unsigned hosts;
	const char *origin[HOSTS_MAX];     /* --allow-origin */
	unsigned origins;
	unsigned port[HOSTS_MAX]; /* ports that we listen on */
	unsigned ports;
};

/* Copies the name in "name:80", "[::1]:80" or "name", without its port. Return: false: the
 * text has another form, or is too long. */
bool host_name(const char *text, char *ret, size_t size);
/* Checks a Host header; NULL: none was sent. */
bool host_is_ours(const struct hosts *h, const char *host);
/* Returns whether a Host header names loopback. *port: unchanged if it has none. */
bool host_is_loopback(const char *host, unsigned *port);
/*
 * Returns whether an Origin header is one of --allow-origin, or a page of ours. A page of
 * ours has a host of ours that is no sandbox's. Its port is one that we listen on, and its
 * scheme is http; or its port is that of the Host header, as behind a tunnel or proxy.
 * host: the Host header; NULL: none.
 */
bool origin_is_ours(const struct hosts *h, const char *origin, const char *host);
/* Returns whether the origin is one of --allow-origin: then it gets CORS headers. */
bool origin_is_allowed(const struct hosts *h, const char *origin);

/*
 * Finds the port and id in the first label of a host below the domain,
 * "49999-ID". domain NULL: any host of that form. Return: false: it has no such
 * label.
 */
bool host_label(const struct hosts *h, const char *host, unsigned *port,
		char *id, size_t size);

#endif
