/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of a machine: joins what the door says of each (its server and address)
 * with what the relay says (its bytes, its end). The two speak over sockets of their own,
 * so an end may come before the beginning: it then waits in `early`.
 *
 * Owns the list of open streams, and their records for the next server.
 */
#include <stdlib.h>
#include <string.h>

#include "connections.h"
#include "fsd/jobs/statistics.h"
#include "machine_network_int.h"

#define NOTES_MOST 4u /* a relay that was taken over may send them without end */

/* An open stream. */
struct stream {
	struct list node; /* in machine_network->streams */
	uint32_t number;
	struct kept_stream *record; /* NULL: the next server will not know it */
	struct result_connection shown; /* its texts are in: */
	char host[WIRE_NET_NAME_MAX + 1], address[64];
};

/* --- one stream ------------------------------------------------------------------- */

static void told_ended(const struct machine_network *n, uint32_t stream,
		       const struct result_connection *c, enum net_told told)
{
	statistics_connection_ended(n->d, told);
	if (n->listener)
		n->listener->ended(n->arg, stream, c);
}

/* Writes a line of the operator's audit about a stream: what the door has decided; or,
 * at its end, what the relay has counted. A relay that was taken over can make its
 * reasons up, so no reason of a relay is written. */
static void audit(const struct machine_network *n, const struct stream *s, bool at_end)
{
	const struct net_policy *policy = network_policy(n->d->network);
	bool is_open = !strcmp(s->shown.verdict, net_told_names[NET_TOLD_OK]);
	auto_buf struct buf text = { 0 };

	if (!policy || !policy->audit)
		return;
	if (at_end)
		connection_describe_count(&s->shown, &text);
	else
		connection_describe(&s->shown, is_open, &text);
	if (!text.failed)
		log_info("audit: network: uid %u, %s: %s (%s)", n->uid, n->name, text.data,
			 s->shown.verdict);
}

static void drop_stream(struct machine_network *n, struct stream *s)
{
	audit(n, s, true);
	list_del(&s->node);
	statistics_connection_closed(n->d);
	kept_stream_del(n->d->handover, s->record);
	free(s);
}

static struct stream *find_stream(const struct machine_network *n, uint32_t number)
{
	list_for_each(pos, tmp, &((struct machine_network *)(uintptr_t)n)->streams) {
		struct stream *s = list_entry(pos, struct stream, node);

		if (s->number == number)
			return s;
	}
	return NULL;
}

static void end_stream(struct machine_network *n, struct stream *s,
		       const struct relay_said *said)
{
	s->shown.sent = said->sent;
	s->shown.received = said->received;
	s->shown.ms = said->ms;
	s->shown.verdict = net_told_names[said->told];
	s->shown.reason = said->text[0] ? said->text : NULL;
	told_ended(n, s->number, &s->shown, (enum net_told)said->told);
	drop_stream(n, s);
}

/* The relay took its counts of the stream with it. */
static void lose_stream(struct machine_network *n, struct stream *s)
{
	struct relay_said said = { .told = NET_TOLD_LOST, .sent = RESULT_UNKNOWN,
				   .received = RESULT_UNKNOWN, .ms = RESULT_UNKNOWN };

	snprintf(said.text, sizeof(said.text), "%s", n->lost);
	end_stream(n, s, &said);
}

static bool take_early(struct machine_network *n, uint32_t number, struct relay_said *ret)
{
	for (unsigned i = 0; i < EARLY_MOST; i++)
		if (n->early[i].stream == number && number) {
			*ret = n->early[i];
			n->early[i].stream = 0;
			return true;
		}
	return false;
}

static void print_address(const struct door_record *r, char ret[64])
{
	auto_buf struct buf text = { 0 };

	if (r->has_address)
		net_address_print(&r->address, &text);
	snprintf(ret, 64, "%s", text.data && !text.failed ? text.data : "");
}

static void show_open(struct stream *s, uint32_t port)
{
	s->shown = (struct result_connection){
		.host = s->host, .port = port,
		.address = s->address[0] ? s->address : NULL,
		.sent = RESULT_UNKNOWN, .received = RESULT_UNKNOWN, .ms = RESULT_UNKNOWN,
		.verdict = net_told_names[NET_TOLD_OK],
	};
}

/* A refusal, or the beginning of a stream. */
void machine_streams_record(void *arg, const struct door_record *r)
{
	struct machine_network *n = arg;
	struct relay_said early;
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	s->number = r->stream;
	snprintf(s->host, sizeof(s->host), "%s", r->name);
	print_address(r, s->address);
	show_open(s, r->port);
	s->shown.verdict = net_told_names[r->told];
	s->shown.reason = r->why[0] ? r->why : NULL;
	if (r->told != NET_TOLD_OK) {
		audit(n, s, false);
		take_early(n, r->stream, &early);
		told_ended(n, 0, &s->shown, (enum net_told)r->told);
		free(s);
		return;
	}
	/* A name that was found; or the last door ended between its word to this server and
	 * its answer to the relay, which has asked this one again. */
	if (!r->stream || find_stream(n, r->stream)) {
		free(s);
		return;
	}
	list_add_tail(&n->streams, &s->node);
	s->record = kept_stream_add(n->d->handover, n->key, s->number, &s->shown);
	statistics_connection_opened(n->d);
	audit(n, s, false);
	if (n->listener)
		n->listener->opened(n->arg, s->number, &s->shown);
	if (take_early(n, r->stream, &early))
		end_stream(n, s, &early);
}

/* --- what the relay says ---------------------------------------------------------- */

static void on_total(struct machine_network *n, const struct relay_said *said)
{
	statistics_network_bytes(n->d, said->sent - MIN(n->sent, said->sent),
				 said->received - MIN(n->received, said->received));
	n->sent = said->sent;
	n->received = said->received;
	if (n->record) {
		n->record->sent = n->sent;
		n->record->received = n->received;
	}
	if (n->listener)
		n->listener->total(n->arg, n->sent, n->received);
}

/* Returns whether the relay has refused a stream by itself: the door has no record of it.
 * A stream that the door has connected may end as "reset" or "ok" before its record comes. */
static bool is_refusal(const struct relay_said *said)
{
	return said->told == NET_TOLD_LIMIT || said->told == NET_TOLD_DENIED ||
	       said->told == NET_TOLD_LOST;
}

static void on_refused(struct machine_network *n, const struct relay_said *said)
{
	const struct result_connection c = {
		.sent = RESULT_UNKNOWN, .received = RESULT_UNKNOWN, .ms = RESULT_UNKNOWN,
		.verdict = net_told_names[said->told],
		.reason = said->text[0] ? said->text : NULL,
	};

	told_ended(n, 0, &c, (enum net_told)said->told);
}

static void on_port_ended(const struct machine_network *n, const struct relay_said *said)
{
	if (n->listener && n->listener->port_ended)
		n->listener->port_ended(n->arg, said->port, said->sent, said->received);
}

static void note(struct machine_network *n, const struct relay_said *said)
{
	if (n->listener && n->notes++ < NOTES_MOST)
		n->listener->said(n->arg, said->text);
}

void machine_streams_said(void *arg, const struct relay_said *said)
{
	struct machine_network *n = arg;
	struct stream *s = said->op == RELAY_ENDED ? find_stream(n, said->stream) : NULL;

	if (s)
		end_stream(n, s, said);
	else if (said->op == RELAY_TOTAL || said->op == RELAY_FINISHED)
		on_total(n, said);
	else if (said->op == RELAY_NOTE)
		note(n, said);
	else if (said->op == RELAY_ENDED && is_refusal(said))
		on_refused(n, said);
	else if (said->op == RELAY_ENDED && said->port)
		on_port_ended(n, said);
	else if (said->op == RELAY_ENDED)
		n->early[n->early_count++ % EARLY_MOST] = *said;
}

/* --- all of them ------------------------------------------------------------------ */

void machine_streams_lose(struct machine_network *n)
{
	struct stream *s;

	while ((s = list_first(&n->streams, struct stream, node)))
		lose_stream(n, s);
}

void machine_streams_drop(struct machine_network *n)
{
	struct stream *s;

	while ((s = list_first(&n->streams, struct stream, node))) {
		s->shown.verdict = net_told_names[NET_TOLD_LOST];
		drop_stream(n, s);
	}
}

/* Their ends come from the relay, or have come and wait in its account. */
void machine_streams_adopt(struct machine_network *n)
{
	struct kept_stream *k;

	for (uint32_t i = 0; (k = kept_stream_next(n->d->handover, n->key, &i)); ) {
		struct stream *s = find_stream(n, k->number) ? NULL : calloc(1, sizeof(*s));

		if (!s)
			continue;
		s->number = k->number;
		memcpy(s->host, k->host, sizeof(s->host));
		memcpy(s->address, k->address, sizeof(s->address));
		show_open(s, k->port);
		s->record = k;
		list_add_tail(&n->streams, &s->node);
		statistics_connection_adopted(n->d);
	}
}
