/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the connections of one program. The texts come from the door, which has checked
 * them, and from the relay; a program can choose the server name that the relay reports.
 * All texts are printable ASCII. A table of fixed size holds the connections; those that
 * do not fit are only counted.
 */
#include "connections.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* True if the verdict says that the door or the relay has refused the connection. */
static bool is_refusal(const char *verdict)
{
	return strcmp(verdict, "ok") && strcmp(verdict, "reset") && strcmp(verdict, "lost");
}

static void copy(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text ? text : "");
}

/* Marks item[at] as complete and in use; order 0: as free. */
static void set_order(struct connections *c, unsigned at, uint64_t order)
{
	__atomic_store_n(&c->order[at], order, __ATOMIC_RELEASE);
}

static void set_end(struct connections_item *item, const struct result_connection *shown)
{
	item->sent = shown->sent;
	item->received = shown->received;
	item->ms = shown->ms;
	copy(item->verdict, sizeof(item->verdict), shown->verdict);
	copy(item->reason, sizeof(item->reason), shown->reason);
}

static void set_item(struct connections *c, unsigned at, uint32_t stream,
		     const struct result_connection *shown)
{
	struct connections_item *item = &c->item[at];

	item->stream = stream;
	item->port = shown->port;
	copy(item->host, sizeof(item->host), shown->host);
	copy(item->address, sizeof(item->address), shown->address);
	set_end(item, shown);
	set_order(c, at, ++c->last);
}

/* Return: a free place, or CONNECTIONS_MOST. */
static unsigned find_place(const struct connections *c)
{
	unsigned at = 0;

	while (at < CONNECTIONS_MOST && c->order[at])
		at++;
	return at;
}

/* Frees the entry of the oldest connection that was not refused. Return: its index;
 * CONNECTIONS_MOST: there is none. */
static unsigned give_place(struct connections *c)
{
	unsigned found = CONNECTIONS_MOST;

	for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
		if (c->order[i] && !is_refusal(c->item[i].verdict) &&
		    (found == CONNECTIONS_MOST || c->order[i] < c->order[found]))
			found = i;
	if (found == CONNECTIONS_MOST)
		return found;
	c->unlisted += c->item[found].stream != 0;
	c->dropped++;
	set_order(c, found, 0);
	return found;
}

static void add(struct connections *c, uint32_t stream,
		const struct result_connection *shown)
{
	unsigned at = c->totals_only ? CONNECTIONS_MOST : find_place(c);

	if (at == CONNECTIONS_MOST && !c->totals_only && is_refusal(shown->verdict))
		at = give_place(c);
	if (at < CONNECTIONS_MOST) {
		set_item(c, at, stream, shown);
	} else {
		c->dropped++;
		c->unlisted += stream != 0;
	}
}

static bool same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool has_refusal(const struct connections *c, const struct result_connection *shown)
{
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++) {
		const struct connections_item *item = &c->item[i];

		if (c->order[i] && is_refusal(item->verdict) && item->port == shown->port &&
		    same(item->host, shown->host) && same(item->verdict, shown->verdict) &&
		    same(item->reason, shown->reason))
			return true;
	}
	return false;
}

void connections_open(struct connections *c, uint32_t stream,
		      const struct result_connection *shown)
{
	add(c, stream, shown);
}

void connections_end(struct connections *c, uint32_t stream,
		     const struct result_connection *shown)
{
	for (unsigned i = 0; stream && i < CONNECTIONS_MOST; i++) {
		if (!c->order[i] || c->item[i].stream != stream)
			continue;
		set_end(&c->item[i], shown);
		c->item[i].stream = 0;
		return;
	}
	if (is_refusal(shown->verdict) && has_refusal(c, shown))
		return;
	if (stream && c->unlisted) { /* connections_open() has counted it as dropped;
				      * add() may do so again */
		c->unlisted--;
		c->dropped--;
	}
	add(c, 0, shown);
}

unsigned connections_ports(const struct connections *c)
{
	unsigned count = 0;

	while (count < CONNECTIONS_PORTS && c->port[count].port)
		count++;
	return count;
}

void connections_port(struct connections *c, unsigned port, uint64_t sent,
		      uint64_t received)
{
	for (unsigned i = 0; i < CONNECTIONS_PORTS; i++) {
		struct result_port *p = &c->port[i];

		if (p->port && p->port != port)
			continue;
		p->connections++;
		p->sent += sent;
		p->received += received;
		p->port = port;
		return;
	}
}

static const char *text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

void connections_show(const struct connections *c,
		      struct result_connection room[CONNECTIONS_MOST],
		      struct result_network *ret)
{
	uint64_t shown = 0;

	*ret = (struct result_network){
		.sent = c->sent, .received = c->received, .connections = room,
		.dropped = c->dropped,
	};
	for (;;) {
		const struct connections_item *item = NULL;
		uint64_t next = UINT64_MAX;

		for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
			if (c->order[i] > shown && c->order[i] < next) {
				next = c->order[i];
				item = &c->item[i];
			}
		if (!item)
			return;
		shown = next;
		room[ret->count++] = (struct result_connection){
			.host = text_or_null(item->host), .port = item->port,
			.address = text_or_null(item->address), .sent = item->sent,
			.received = item->received, .ms = item->ms,
			.verdict = item->verdict, .reason = text_or_null(item->reason),
		};
	}
}

bool connections_say(struct connections *c, const char *text)
{
	unsigned at = 0;

	for (; at < CONNECTIONS_MOST && c->times[at]; at++)
		if (!strncmp(c->line[at], text, CONNECTIONS_LINE - 1)) {
			c->times[at]++;
			return false;
		}
	if (at == CONNECTIONS_MOST)
		return false;
	copy(c->line[at], CONNECTIONS_LINE, text);
	__atomic_store_n(&c->times[at], 1, __ATOMIC_RELEASE);
	return true;
}

void connections_say_again(const struct connections *c,
			   void (*say)(void *arg, const char *text), void *arg)
{
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++) {
		auto_buf struct buf text = { 0 };

		if (c->times[i] < 2)
			continue;
		buf_fmt(&text, "%s, %" PRIu64 " times", c->line[i], c->times[i]);
		if (!text.failed)
			say(arg, text.data);
	}
}

void connections_recover(struct connections *c)
{
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++) {
		struct connections_item *item = &c->item[i];

		if (c->times[i])
			utf8_recover(c->line[i], CONNECTIONS_LINE);
		if (!c->order[i])
			continue;
		utf8_recover(item->verdict, sizeof(item->verdict));
		utf8_recover(item->host, sizeof(item->host));
		utf8_recover(item->address, sizeof(item->address));
		utf8_recover(item->reason, sizeof(item->reason));
	}
}

/* --- a line ------------------------------------------------------------------------ */

/* For each verdict of a refusal: the words between the server's name and the reason. */
static const struct {
	const char *verdict, *between;
} refusals[] = {
	{ "denied", " refused: " }, { "private", " refused: " }, { "own", " refused: " },
	{ "unresolved", " " }, { "refused", ": " }, { "unreachable", ": " },
	{ "timeout", ": " }, { "sni", " cut: " }, { "ech", " cut: " },
	{ "limit", " cut: " },
};

static void describe_end(const struct result_connection *c, struct buf *out)
{
	bool ok = !strcmp(c->verdict, "ok");

	if (c->sent == RESULT_UNKNOWN) /* its relay was lost */
		buf_fmt(out, " %s", c->verdict);
	else
		buf_fmt(out, " %s after %.1f s, %" PRIu64 " bytes out, %" PRIu64 " in",
			ok ? "closed" : c->verdict, (double)c->ms / 1000, c->sent,
			c->received);
	if (c->reason)
		buf_fmt(out, ": %s", c->reason);
}

static void describe_server(const struct result_connection *c, struct buf *out)
{
	bool has_port = c->port && strcmp(c->verdict, "unresolved");

	buf_fmt(out, has_port && strchr(c->host, ':') ? "[%s]" : "%s", c->host);
	if (has_port)
		buf_fmt(out, ":%u", c->port);
}

static void describe_address(const struct result_connection *c, struct buf *out)
{
	if (c->address && !same(c->address, c->host))
		buf_fmt(out, " (%s)", c->address);
}

void connection_describe(const struct result_connection *c, bool is_open, struct buf *out)
{
	if (!c->host) { /* the relay has refused it, and reports no name */
		buf_str(out, c->reason ? c->reason : c->verdict);
		return;
	}
	describe_server(c, out);
	for (size_t i = 0; !is_open && i < ARRAY_SIZE(refusals); i++)
		if (!strcmp(c->verdict, refusals[i].verdict)) {
			buf_fmt(out, "%s%s", refusals[i].between,
				c->reason ? c->reason : c->verdict);
			return;
		}
	describe_address(c, out);
	if (is_open)
		buf_str(out, " open");
	else
		describe_end(c, out);
}

void connection_describe_count(const struct result_connection *c, struct buf *out)
{
	describe_server(c, out);
	describe_address(c, out);
	if (c->sent == RESULT_UNKNOWN)
		buf_str(out, " ended, bytes unknown");
	else
		buf_fmt(out, " ended after %.1f s: %" PRIu64 " bytes out, %" PRIu64 " in",
			(double)c->ms / 1000, c->sent, c->received);
}
