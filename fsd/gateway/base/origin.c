/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares Host and Origin of a request with the names that the gateway serves.
 *
 * The parts: splitting name and port, names of the host, origins, and labels such as
 * PORT-ID.DOMAIN that name a sandbox. There is no state; the names belong to the caller.
 */
#include "origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const always[] = { "localhost", "127.0.0.1", "[::1]" };

/* Splits name and port. port: unchanged if text has none; NULL: not wanted. */
static bool split(const char *text, char *ret, size_t size, unsigned *port)
{
	const char *end = *text == '[' ? strchr(text, ']') : NULL;
	size_t len = end ? (size_t)(end + 1 - text) : strcspn(text, ":");
	const char *tail = text + len;

	if (!len || len >= size || (*text == '[' && !end))
		return false;
	if (*tail && (*tail != ':' || !tail[1] || strlen(tail) > 6 ||
		      strspn(tail + 1, "0123456789") != strlen(tail + 1)))
		return false;
	if (*tail && port)
		*port = (unsigned)strtoul(tail + 1, NULL, 10);
	memcpy(ret, text, len);
	ret[len] = '\0';
	return true;
}

bool host_name(const char *text, char *ret, size_t size)
{
	return split(text, ret, size, NULL);
}

static bool is_under(const char *domain, const char *name)
{
	size_t all = strlen(name), len = strlen(domain);

	return all == len ? !strcasecmp(name, domain)
			  : all > len + 1 && name[all - len - 1] == '.' &&
				    !strcasecmp(name + all - len, domain);
}

bool host_is_ours(const struct hosts *h, const char *host)
{
	char name[256];

	if (!host || !host_name(host, name, sizeof(name)))
		return false;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (!strcasecmp(name, always[i]))
			return true;
	for (unsigned i = 0; i < h->hosts; i++)
		if (!strcasecmp(name, h->host[i]))
			return true;
	/* names below localhost are loopback's (RFC 6761), so no other host can have one */
	return is_under("localhost", name) || (h->domain && is_under(h->domain, name));
}

bool host_is_loopback(const char *host, unsigned *port)
{
	char name[256];

	if (!host || !split(host, name, sizeof(name), port))
		return false;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (!strcasecmp(name, always[i]))
			return true;
	return false;
}

bool origin_is_allowed(const struct hosts *h, const char *origin)
{
	for (unsigned i = 0; i < h->origins; i++)
		if (!strcasecmp(origin, h->origin[i]))
			return true;
	return false;
}

static bool is_port(const struct hosts *h, unsigned port)
{
	for (unsigned i = 0; i < h->ports; i++)
		if (h->port[i] == port)
			return true;
	return false;
}

bool origin_is_ours(const struct hosts *h, const char *origin, const char *host)
{
	bool plain = !strncasecmp(origin, "http://", 7);
	const char *where = origin + (plain ? 7 : 8);
	unsigned port = plain ? 80 : 443, asked = 80, unused;
	char name[256];

	if (origin_is_allowed(h, origin))
		return true;
	if ((!plain && strncasecmp(origin, "https://", 8) != 0) ||
	    !split(where, name, sizeof(name), &port) || !host_is_ours(h, where))
		return false;
	/* a page that a sandbox serves is its program's, not ours */
	if (host_label(h, where, &unused, name, sizeof(name)))
		return false;
	if (is_port(h, port))
		return plain;
	/* behind a tunnel or proxy: the page must come from the host it asks */
	return host && !strcasecmp(where, host) &&
	       split(host, name, sizeof(name), &asked) && !is_port(h, asked);
}

bool host_label(const struct hosts *h, const char *host, unsigned *port,
		char *id, size_t size)
{
	char name[256];
	char *end, *dash;
	unsigned long number;

	if (!host || !host_name(host, name, sizeof(name)) ||
	    (h->domain && !is_under(h->domain, name) && !is_under("localhost", name)))
		return false;
	end = strchr(name, '.');
	if (!end)
		return false;
	*end = '\0';
	if (*name < '0' || *name > '9')
		return false;
	number = strtoul(name, &dash, 10);
	if (*dash != '-' || !dash[1] || number > 65535 || strlen(dash + 1) >= size)
		return false;
	*port = (unsigned)number;
	snprintf(id, size, "%s", dash + 1);
	return true;
}
