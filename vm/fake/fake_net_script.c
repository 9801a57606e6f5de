/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands "net" of a fake job's script. The words that they print are lines of
 * stdout. A command that waits sets net_waits of its program; frames end the wait.
 *
 *   net told             what NET of the wire said: names, ports, routes, certificates
 *   net resolve NAME     "NAME 80,443-444", "NAME none" or "NAME again"
 *   net open NAME PORT   "NAME:PORT open", or "NAME:PORT " and the reason of the reset
 *   net many N NAME PORT opens N streams at once: "4 open, 2 limit"
 *   net serve PORT       waits for a client of the port; until then it is refused
 *   net use N            stream N becomes the current one
 *   net send TEXT        sends a line
 *   net bytes N          sends N bytes
 *   net hello NAME [ech] sends a TLS ClientHello for that server name
 *   net read             a line that has come, "end", or "reset REASON"
 *   net eat              reads to the end: "N bytes, end" or "N bytes, reset REASON"
 *   net sum              as eat, with a sum: "N bytes, HEX, end"
 *   net end, net reset   ends the stream
 *   net raw HEX          these bytes on the port
 *   net helper           the machine's helper ends
 */
#include "fake_net.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const resets[NET_RESETS] = {
	[NET_RESET_PEER] = "peer", [NET_RESET_REFUSED] = "refused",
	[NET_RESET_FAILED] = "failed", [NET_RESET_LIMIT] = "limit",
};

__attribute__((format(printf, 2, 3))) static void say(struct fake_guest *g,
						      const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fake_put_output(g, WIRE_OUT, text, strlen(text));
	fake_put_output(g, WIRE_OUT, "\n", 1);
}

static struct fake_stream *stream_of(struct fake_guest *g)
{
	struct fake_net *n = fake_net_of(g);

	list_for_each(pos, tmp, &n->streams) {
		struct fake_stream *s = list_entry(pos, struct fake_stream, node);

		if (s->number == g->net_stream)
			return s;
	}
	return NULL;
}

/* --- what comes for a program --------------------------------------------------------- */

/* Calls fn for the machine and each lane, until it returns true. */
static bool each(struct fake_guest *m, bool (*fn)(struct fake_guest *g,
						  const struct net_frame *f),
		 const struct net_frame *f)
{
	bool found = fn(m, f);

	for (unsigned i = 1; i <= WIRE_LANE_MAX && !found; i++)
		found = m->lanes[i] && fn(m->lanes[i], f);
	return found;
}

static bool is_answered(struct fake_guest *g)
{
	return !g->net_waits.number || fake_net_of(g)->ended;
}

static bool is_for(struct fake_guest *g, const struct net_frame *f)
{
	static const char *const words[] = { [NET_ANSWER_NONE] = "none",
					     [NET_ANSWER_AGAIN] = "again" };
	auto_buf struct buf text = { 0 };
	size_t used = strlen(g->net_waits.text);

	if (g->net_waits.ready != is_answered || g->net_waits.number != f->id)
		return false;
	for (uint32_t i = 0; i < f->range_count; i++)
		buf_fmt(&text, f->range[i].low == f->range[i].high ? "%s%u" : "%s%u-%u",
			i ? "," : "", f->range[i].low, f->range[i].high);
	snprintf(g->net_waits.text + used, sizeof(g->net_waits.text) - used, " %s",
		 f->arg == NET_ANSWER_OK ? text.data : words[f->arg]);
	g->net_waits.number = 0;
	return true;
}

static bool has_client(struct fake_guest *g)
{
	return !g->net_waits.number || fake_net_of(g)->ended;
}

static bool is_called(struct fake_guest *g, const struct net_frame *f)
{
	if (g->net_waits.ready != has_client || g->net_waits.number != f->port)
		return false;
	g->net_waits.number = 0;
	fake_stream_new(g, f->id, false);
	fake_net_put(fake_net_of(g), (struct net_frame){ .type = WIRE_NET_OPENED, .id = f->id });
	return true;
}

bool fake_net_answered(struct fake_guest *m, const struct net_frame *f)
{
	return each(m, is_for, f);
}

bool fake_net_called(struct fake_guest *m, const struct net_frame *f)
{
	return each(m, is_called, f);
}

/* --- commands ------------------------------------------------------------------------ */

void fake_net_continue(struct fake_guest *g)
{
	struct fake_wait was = g->net_waits;

	g->net_waits.ready = NULL;
	was.done(g);
}

static void wait_for(struct fake_guest *g, bool (*ready)(struct fake_guest *g),
		     void (*done)(struct fake_guest *g))
{
	g->net_waits.ready = ready;
	g->net_waits.done = done;
}

static void cmd_told(struct fake_guest *g, char *rest)
{
	(void)rest;
	say(g, "%s", fake_net_of(g)->told.data);
}

static void say_answer(struct fake_guest *g)
{
	say(g, "%s%s", g->net_waits.text, g->net_waits.number ? " none" : "");
}

static void cmd_resolve(struct fake_guest *g, char *rest)
{
	struct fake_net *n = fake_net_of(g);
	struct net_frame f = { .type = WIRE_NET_RESOLVE, .id = ++n->queries };

	snprintf(f.name, sizeof(f.name), "%s", rest);
	snprintf(g->net_waits.text, sizeof(g->net_waits.text), "%s", rest);
	g->net_waits.number = f.id;
	fake_net_put(n, f);
	wait_for(g, is_answered, say_answer);
}

static bool is_decided(const struct fake_stream *s)
{
	return s->wire.opened || s->wire.reset;
}

/* Returns whether all streams of the program from net_waits.number on are decided. */
static bool are_decided(struct fake_guest *g)
{
	list_for_each(pos, tmp, &fake_net_of(g)->streams) {
		const struct fake_stream *s = list_entry(pos, struct fake_stream, node);

		if (s->number >= g->net_waits.number && s->owner == g && !is_decided(s))
			return false;
	}
	return true;
}

static void say_opened(struct fake_guest *g)
{
	const struct fake_stream *s = stream_of(g);

	say(g, "%s %s", g->net_waits.text, s->wire.reset ? resets[s->reset] : "open");
}

static void say_many(struct fake_guest *g)
{
	unsigned opened = 0, count[NET_RESETS] = { 0 };
	auto_buf struct buf text = { 0 };

	list_for_each(pos, tmp, &fake_net_of(g)->streams) {
		const struct fake_stream *s = list_entry(pos, struct fake_stream, node);

		if (s->number < g->net_waits.number || s->owner != g)
			continue;
		opened += !s->wire.reset;
		count[s->reset] += s->wire.reset;
	}
	buf_fmt(&text, "%u open", opened);
	for (unsigned i = 0; i < NET_RESETS; i++)
		if (count[i])
			buf_fmt(&text, ", %u %s", count[i], resets[i]);
	say(g, "%s", text.data);
}

/* rest: "NAME PORT". */
static void open_stream(struct fake_guest *g, const char *rest)
{
	struct fake_net *n = fake_net_of(g);
	struct net_frame f = { .type = WIRE_NET_OPEN, .id = net_ids_next(&n->ids) };

	/* a malformed command is a mistake of the test */
	if (sscanf(rest, "%253s %5u", f.name, &f.port) != 2)
		abort();
	snprintf(g->net_waits.text, sizeof(g->net_waits.text), "%s:%u", f.name, f.port);
	fake_stream_new(g, f.id, true);
	fake_net_put(n, f);
}

static void cmd_open(struct fake_guest *g, char *rest)
{
	open_stream(g, rest);
	g->net_waits.number = g->net_stream;
	wait_for(g, are_decided, say_opened);
}

static void cmd_many(struct fake_guest *g, char *rest)
{
	unsigned long count = strtoul(rest, &rest, 10);

	g->net_waits.number = fake_net_of(g)->stream_count + 1;
	while (count--)
		open_stream(g, rest);
	wait_for(g, are_decided, say_many);
}

static void no_more(struct fake_guest *g)
{
	(void)g;
}

static void cmd_serve(struct fake_guest *g, char *rest)
{
	g->net_waits.number = strtoul(rest, NULL, 10);
	wait_for(g, has_client, no_more);
}

static void cmd_use(struct fake_guest *g, char *rest)
{
	g->net_stream = (uint32_t)strtoul(rest, NULL, 10);
}

/* --- bytes ---------------------------------------------------------------------------- */

static bool is_sent(struct fake_guest *g)
{
	const struct fake_stream *s = stream_of(g);

	return !s || !s->out.len || s->wire.reset;
}

static void send_all(struct fake_guest *g, struct fake_stream *s)
{
	fake_stream_send(fake_net_of(g), s);
	wait_for(g, is_sent, no_more);
}

static void cmd_send(struct fake_guest *g, char *rest)
{
	struct fake_stream *s = stream_of(g);

	if (!s)
		return;
	buf_fmt(&s->out, "%s\n", rest);
	send_all(g, s);
}

static void cmd_bytes(struct fake_guest *g, char *rest)
{
	struct fake_stream *s = stream_of(g);
	uint64_t count = strtoull(rest, NULL, 10);

	if (!s)
		return;
	while (count--)
		buf_add(&s->out, "x", 1);
	send_all(g, s);
}

static void put_number(struct buf *to, unsigned bytes, size_t value)
{
	while (bytes--) {
		char byte = (char)(value >> (8 * bytes));

		buf_add(to, &byte, 1);
	}
}

static void cmd_hello(struct fake_guest *g, char *rest)
{
	struct fake_stream *s = stream_of(g);
	char *ech = strchr(rest, ' ');
	size_t name, extensions, random = 32;

	if (!s)
		return;
	if (ech)
		*ech = '\0';
	name = strlen(rest);
	extensions = 4 + 5 + name + (ech ? 4 : 0);
	buf_add(&s->out, "\x16\x03\x01", 3); /* record: a handshake */
	put_number(&s->out, 2, 4 + 2 + random + 1 + 4 + 2 + 2 + extensions);
	put_number(&s->out, 1, 1); /* ClientHello */
	put_number(&s->out, 3, 2 + random + 1 + 4 + 2 + 2 + extensions);
	put_number(&s->out, 2, 0x303);
	while (random--)
		put_number(&s->out, 1, 7);
	put_number(&s->out, 1, 0);      /* no session */
	put_number(&s->out, 4, 0x21301); /* one cipher suite */
	put_number(&s->out, 2, 0x100);  /* no compression */
	put_number(&s->out, 2, extensions);
	put_number(&s->out, 4, 5 + name); /* extension 0: server_name */
	put_number(&s->out, 2, 3 + name);
	put_number(&s->out, 1, 0);
	put_number(&s->out, 2, name);
	buf_str(&s->out, rest);
	if (ech)
		put_number(&s->out, 4, 0xfe0d0000u);
	send_all(g, s);
}

static bool is_over(const struct fake_stream *s)
{
	return s->wire.reset || s->wire.heard_end;
}

static bool has_line(struct fake_guest *g)
{
	const struct fake_stream *s = stream_of(g);

	return !s || is_over(s) || memchr(s->in.data ? s->in.data : "", '\n', s->in.len);
}

static void say_end(struct fake_guest *g, const struct fake_stream *s, const char *before)
{
	if (s && s->wire.reset)
		say(g, "%sreset %s", before, resets[s->reset]);
	else
		say(g, "%send", before);
}

static void say_line(struct fake_guest *g)
{
	struct fake_stream *s = stream_of(g);
	const char *end = s ? memchr(s->in.data ? s->in.data : "", '\n', s->in.len) : NULL;
	size_t size = end ? (size_t)(end - s->in.data) + 1 : s ? s->in.len : 0;

	if (!size) {
		say_end(g, s, "");
		return;
	}
	say(g, "%.*s", (int)(end ? size - 1 : size), s->in.data);
	fake_stream_take(fake_net_of(g), s, size);
}

static void cmd_read(struct fake_guest *g, char *rest)
{
	(void)rest;
	wait_for(g, has_line, say_line);
}

/* Takes what has come. Return: whether that was all. */
static bool has_eaten(struct fake_guest *g)
{
	struct fake_stream *s = stream_of(g);

	if (!s)
		return true;
	g->net_waits.number += s->in.len;
	for (size_t i = 0; i < s->in.len; i++) /* FNV-1a */
		g->net_waits.sum = (g->net_waits.sum ^ (uint8_t)s->in.data[i]) * 16777619u;
	fake_stream_take(fake_net_of(g), s, s->in.len);
	return is_over(s);
}

static void say_eaten(struct fake_guest *g)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRIu64 " bytes, ", g->net_waits.number);
	say_end(g, stream_of(g), text);
}

static void say_sum(struct fake_guest *g)
{
	char text[60];

	snprintf(text, sizeof(text), "%" PRIu64 " bytes, %08" PRIx32 ", ",
		 g->net_waits.number, g->net_waits.sum);
	say_end(g, stream_of(g), text);
}

static void eat(struct fake_guest *g, void (*done)(struct fake_guest *g))
{
	g->net_waits.number = 0;
	g->net_waits.sum = 2166136261u;
	wait_for(g, has_eaten, done);
}

static void cmd_eat(struct fake_guest *g, char *rest)
{
	(void)rest;
	eat(g, say_eaten);
}

static void cmd_sum(struct fake_guest *g, char *rest)
{
	(void)rest;
	eat(g, say_sum);
}

/* --- ends ----------------------------------------------------------------------------- */

static void cmd_end(struct fake_guest *g, char *rest)
{
	struct fake_stream *s = stream_of(g);

	(void)rest;
	if (!s)
		return;
	s->ends = true;
	fake_stream_send(fake_net_of(g), s);
}

static void cmd_reset(struct fake_guest *g, char *rest)
{
	struct fake_stream *s = stream_of(g);

	(void)rest;
	if (s)
		fake_stream_reset(fake_net_of(g), s);
}

static void cmd_raw(struct fake_guest *g, char *rest)
{
	fake_hex(&fake_net_of(g)->out, rest);
	fake_net_flush(fake_net_of(g));
}

static void cmd_helper(struct fake_guest *g, char *rest)
{
	struct fake_guest *m = fake_machine(g);

	(void)rest;
	fake_put(m, WIRE_NETWORK_ENDED, 0, NULL, 0);
	fake_flush(m);
	fake_net_lost(m->net);
}

static const struct {
	const char *word;
	void (*run)(struct fake_guest *g, char *rest);
} commands[] = {
	{ "told", cmd_told }, { "resolve", cmd_resolve }, { "open", cmd_open },
	{ "many", cmd_many }, { "serve", cmd_serve }, { "use", cmd_use },
	{ "send", cmd_send }, { "bytes", cmd_bytes }, { "hello", cmd_hello },
	{ "read", cmd_read }, { "eat", cmd_eat }, { "sum", cmd_sum },
	{ "end", cmd_end }, { "reset", cmd_reset }, { "raw", cmd_raw }, { "helper", cmd_helper },
};

static void run_command(struct fake_guest *g, char *line)
{
	size_t length = strcspn(line, " ");

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strlen(commands[i].word) == length &&
		    !strncmp(commands[i].word, line, length)) {
			commands[i].run(g, line + length + strspn(line + length, " "));
			return;
		}
}

static bool is_started(struct fake_guest *g)
{
	return fake_net_of(g)->started || fake_net_of(g)->ended;
}

static void run_waiting(struct fake_guest *g)
{
	char line[sizeof(g->net_waits.text)];

	memcpy(line, g->net_waits.text, sizeof(line));
	run_command(g, line);
}

void fake_net_command(struct fake_guest *g, char *rest)
{
	struct fake_net *n = fake_net_of(g);

	if (!n) {
		say(g, "no network");
		return;
	}
	if (is_started(g)) {
		run_command(g, rest);
		return;
	}
	/* as the helper, it is silent until START has come */
	snprintf(g->net_waits.text, sizeof(g->net_waits.text), "%s", rest);
	wait_for(g, is_started, run_waiting);
}
