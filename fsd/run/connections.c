/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the connections of one program. The texts come from the door, which has checked
 * them, and from the relay, whose server name a program can choose: both are printable
 * ASCII. A table of fixed size holds them; more are counted.
 */
#include "connections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the door or the relay has refused it. */
static bool is_refusal(const struct result_connection *c)
{
	return strcmp(c->verdict, "ok") && strcmp(c->verdict, "reset") &&
	       strcmp(c->verdict, "lost");
}

static void item_done(struct result_connection *item)
{
	free((char *)(uintptr_t)item->host);
	free((char *)(uintptr_t)item->address);
	free((char *)(uintptr_t)item->reason);
	*item = (struct result_connection){ 0 };
}

static const char *copy(const char *text, bool *failed)
{
	char *own = text && *text ? strdup(text) : NULL;

	*failed |= text && *text && !own;
	return own;
}

/* Return: false without memory. */
static bool set_item(struct connections *c, unsigned at, uint32_t stream,
		     const struct result_connection *shown)
{
	struct result_connection *item = &c->item[at];
	bool failed = false;

	*item = *shown;
	item->host = copy(shown->host, &failed);
	item->address = copy(shown->address, &failed);
	item->reason = copy(shown->reason, &failed);
	c->stream[at] = stream;
	if (failed)
		item_done(item);
	return !failed;
}

/* Removes the first connection that is no refusal. Return: whether there was one. */
static bool give_place(struct connections *c)
{
	for (unsigned i = 0; i < c->shown.count; i++) {
		if (is_refusal(&c->item[i]))
			continue;
		item_done(&c->item[i]);
		c->shown.count--;
		c->unlisted += c->stream[i] != 0;
		memmove(&c->item[i], &c->item[i + 1],
			(c->shown.count - i) * sizeof(c->item[0]));
		memmove(&c->stream[i], &c->stream[i + 1],
			(c->shown.count - i) * sizeof(c->stream[0]));
		c->shown.dropped++;
		return true;
	}
	return false;
}

static void add(struct connections *c, uint32_t stream,
		const struct result_connection *shown)
{
	bool fits = !c->totals_only && (c->shown.count < CONNECTIONS_MOST ||
					(is_refusal(shown) && give_place(c)));

	c->shown.connections = c->item;
	if (fits && set_item(c, c->shown.count, stream, shown)) {
		c->shown.count++;
	} else {
		c->shown.dropped++;
		c->unlisted += stream != 0;
	}
}

static bool same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool has_refusal(const struct connections *c, const struct result_connection *shown)
{
	for (unsigned i = 0; i < c->shown.count; i++)
		if (is_refusal(&c->item[i]) && c->item[i].port == shown->port &&
		    same(c->item[i].host, shown->host) &&
		    same(c->item[i].verdict, shown->verdict) &&
		    same(c->item[i].reason, shown->reason))
			return true;
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
	for (unsigned i = 0; stream && i < c->shown.count; i++) {
		struct result_connection *item = &c->item[i];
		bool failed = false;

		if (c->stream[i] != stream)
			continue;
		item->sent = shown->sent;
		item->received = shown->received;
		item->ms = shown->ms;
		item->verdict = shown->verdict;
		item->reason = copy(shown->reason, &failed);
		c->stream[i] = 0;
		return;
	}
	if (is_refusal(shown) && has_refusal(c, shown))
		return;
	if (stream && c->unlisted) { /* its beginning was counted */
		c->unlisted--;
		c->shown.dropped--;
	}
	add(c, 0, shown);
}

bool connections_say(struct connections *c, const char *text)
{
	struct connections_line *line = c->line;

	for (unsigned i = 0; i < c->line_count; i++)
		if (!strcmp(line[i].text, text)) {
			line[i].times++;
			return false;
		}
	if (c->line_count == CONNECTIONS_MOST)
		return false;
	line[c->line_count].text = strdup(text);
	if (!line[c->line_count].text)
		return false;
	line[c->line_count++].times = 1;
	return true;
}

void connections_say_again(const struct connections *c,
			   void (*say)(void *arg, const char *text), void *arg)
{
	for (unsigned i = 0; i < c->line_count; i++) {
		auto_buf struct buf text = { 0 };

		if (c->line[i].times < 2)
			continue;
		buf_fmt(&text, "%s, %" PRIu64 " times", c->line[i].text, c->line[i].times);
		if (!text.failed)
			say(arg, text.data);
	}
}

void connections_done(struct connections *c)
{
	for (unsigned i = 0; i < c->shown.count; i++)
		item_done(&c->item[i]);
	for (unsigned i = 0; i < c->line_count; i++)
		free(c->line[i].text);
	*c = (struct connections){ 0 };
}

/* --- a line ------------------------------------------------------------------------ */

/* The words between a server and the reason. */
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

void connection_describe(const struct result_connection *c, bool is_open, struct buf *out)
{
	bool has_port = c->port && strcmp(c->verdict, "unresolved");

	if (!c->host) { /* the relay has refused it, and says no name */
		buf_str(out, c->reason ? c->reason : c->verdict);
		return;
	}
	buf_fmt(out, has_port && strchr(c->host, ':') ? "[%s]" : "%s", c->host);
	if (has_port)
		buf_fmt(out, ":%u", c->port);
	for (size_t i = 0; !is_open && i < ARRAY_SIZE(refusals); i++)
		if (!strcmp(c->verdict, refusals[i].verdict)) {
			buf_fmt(out, "%s%s", refusals[i].between,
				c->reason ? c->reason : c->verdict);
			return;
		}
	if (c->address && !same(c->address, c->host))
		buf_fmt(out, " (%s)", c->address);
	if (is_open)
		buf_str(out, " open");
	else
		describe_end(c, out);
}
