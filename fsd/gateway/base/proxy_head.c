/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewrites the heads of port traffic. A field is passed on unless it is hop-by-hop (RFC 9110,
 * 7.6.1), which also means each name that "Connection" lists, or a secret of the
 * gateway. Bodies stay as they are framed, so the fields that frame them stay.
 *
 * Each request has a connection of its own: no byte that a sandbox sends behind its
 * answer can be taken for an answer to another request. Pure.
 */
#include "proxy_head.h"

#include <string.h>
#include <strings.h>

#include "layout/base/num.h"

static const char *const hop_by_hop[] = {
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate",
	"Proxy-Authorization", "TE", "Trailer", "Upgrade",
};

/* Fields that the gateway understands itself, or adds below. */
static const char *const ours[] = {
	"X-API-Key", "X-Access-Token", "E2B-Traffic-Access-Token", "E2b-Sandbox-Id",
	"E2b-Sandbox-Port", "Host", "X-Forwarded-For", "X-Forwarded-Host",
};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcasecmp(name, names[i]))
			return true;
	return false;
}

static const char *value_of(const struct head_field *field, unsigned count,
			    const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcasecmp(field[i].name, name))
			return field[i].value;
	return NULL;
}

/* Returns whether a field "Connection" lists the name. */
static bool is_listed(const struct head_field *field, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcasecmp(field[i].name, "Connection") &&
		    head_has_word(field[i].value, name))
			return true;
	return false;
}

bool proxy_upgrades(const struct head_field *field, unsigned count)
{
	return value_of(field, count, "Upgrade") && is_listed(field, count, "upgrade");
}

static void put(struct buf *out, const char *name, const char *value)
{
	buf_fmt(out, "%s: %s\r\n", name, value);
}

/* Framing stays even if "Connection" lists it: else the body would become a second
 * request. */
static bool is_framing(const char *name)
{
	return !strcasecmp(name, "Content-Length") ||
	       !strcasecmp(name, "Transfer-Encoding");
}

static bool goes_on(const struct head_field *field, unsigned count, const char *name)
{
	return is_framing(name) ||
	       (!is_one_of(name, hop_by_hop, ARRAY_SIZE(hop_by_hop)) &&
		!is_listed(field, count, name));
}

void proxy_request_put(const struct proxy_request *q, const struct head_field *field,
		       unsigned count, struct buf *out)
{
	const char *host = value_of(field, count, "Host");
	const char *via = value_of(field, count, "X-Forwarded-For");

	buf_fmt(out, "%s %s HTTP/1.%d\r\n", q->method, q->target, !q->old);
	if (q->host || host)
		put(out, "Host", q->host ? q->host : host);
	for (unsigned i = 0; i < count; i++)
		if (goes_on(field, count, field[i].name) &&
		    !is_one_of(field[i].name, ours, ARRAY_SIZE(ours)) &&
		    (!q->secret || strcasecmp(field[i].name, q->secret) != 0))
			put(out, field[i].name, field[i].value);
	buf_fmt(out, "X-Forwarded-For: %s%s%s\r\n", via ? via : "", via ? ", " : "",
		q->address);
	if (host)
		put(out, "X-Forwarded-Host", host);
	if (!value_of(field, count, "X-Forwarded-Proto"))
		put(out, "X-Forwarded-Proto", "http");
	if (q->upgrades)
		put(out, "Upgrade", value_of(field, count, "Upgrade"));
	put(out, "Connection", q->upgrades ? "Upgrade" : "close");
	buf_str(out, "\r\n");
}

/* --- answers ------------------------------------------------------------ */

long proxy_answer_parse(char *data, size_t len, struct proxy_answer *ret)
{
	long n = head_parse_answer(data, len, &ret->head);

	if (n <= 0)
		return n;
	ret->line = ret->head.target;
	ret->status = ret->head.status;
	ret->has_length = false;
	for (unsigned i = 0; i < ret->head.fields; i++)
		ret->has_length |= !strcasecmp(ret->head.field[i].name,
					       "Content-Length");
	return n;
}

/* Appends a cookie without its attribute "Domain". */
static void put_cookie(struct buf *out, const char *value)
{
	buf_str(out, "Set-Cookie: ");
	for (const char *p = value; *p; ) {
		size_t n = strcspn(p, ";");
		const char *word = p + strspn(p, " \t");

		if (p == value || strncasecmp(word, "domain", 6) != 0 ||
		    !strchr("= \t;", word[6]))
			buf_fmt(out, "%s%.*s", p == value ? "" : ";", (int)n, p);
		p += n + (p[n] == ';');
	}
	buf_str(out, "\r\n");
}

void proxy_answer_put(const struct proxy_answer *a, struct buf *out)
{
	const struct head_field *field = a->head.field;
	const char *upgrade = value_of(field, a->head.fields, "Upgrade");

	buf_fmt(out, "%s\r\n", a->line);
	for (unsigned i = 0; i < a->head.fields; i++) {
		if (!strcasecmp(field[i].name, "Set-Cookie"))
			put_cookie(out, field[i].value);
		else if (goes_on(field, a->head.fields, field[i].name))
			put(out, field[i].name, field[i].value);
	}
	if (a->status == 101 && upgrade) {
		put(out, "Upgrade", upgrade);
		put(out, "Connection", "Upgrade");
	} else if (a->status >= 200) {
		put(out, "Connection", "close");
	}
	buf_str(out, "\r\n");
}
