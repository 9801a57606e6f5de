/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the relay of a machine with the door. The door says what was reached and what was
 * refused: a program that has taken over its relay cannot forge that. The relay says how
 * many bytes a stream had and why it ended. The two speak over sockets of their own, so an
 * end may come before the beginning: it then waits for it.
 *
 * A machine outlives a server that is killed, and so does its relay. The next server
 * adopts both by the records of network_kept.h.
 */
#include "machine_network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/jobs/statistics.h"
#include "fsd/network/network.h"
#include "fsd/network/ports.h"
#include "network_kept.h"
#include "vm/net/network.h"

#define ROUTES_MOST 512u
#define EARLY_MOST 32u

/* An open stream. */
struct stream {
	struct list node; /* in machine_network->streams */
	uint32_t number;
	struct kept_stream *record; /* NULL: the next server will not know it */
	struct result_connection shown; /* its texts are in: */
	char host[WIRE_NET_NAME_MAX + 1], address[64];
};

struct machine_network {
	struct fsd *d;
	struct vm_lease *lease; /* borrowed; NULL: the relay has ended, */
	char lost[RELAY_TEXT_MAX]; /* for this reason; "": the machine broke the protocol */
	struct network_watch watch;
	struct network_job *job; /* owned; NULL: the machine has ports alone */
	struct ports *ports;     /* owned; NULL: the machine has none */
	struct kept_network *record; /* NULL: it is lost with this server */
	char name[LIMIT_FILE_NAME + 1]; /* of its job or sandbox */
	uid_t uid;
	uint64_t key;
	const struct network_listener *listener; /* borrowed, or NULL */
	void *arg;
	struct list streams; /* of struct stream */
	struct relay_said early[EARLY_MOST]; /* ends whose beginning did not come yet */
	unsigned early_count; /* of all that came; the next is early[that % EARLY_MOST] */
	uint64_t sent, received; /* so far */
};

/* --- to the listener ---------------------------------------------------------------- */

static void say(const struct machine_network *n, const char *sentence)
{
	if (n->listener)
		n->listener->said(n->arg, sentence);
}

static void told_ended(const struct machine_network *n, uint32_t stream,
		       const struct result_connection *c, enum net_told told)
{
	statistics_connection_ended(n->d, told);
	if (n->listener)
		n->listener->ended(n->arg, stream, c);
}

/* --- streams ------------------------------------------------------------------------ */

static void drop_stream(struct machine_network *n, struct stream *s)
{
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
static void on_record(void *arg, const struct door_record *r)
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
	if (n->listener)
		n->listener->opened(n->arg, s->number, &s->shown);
	if (take_early(n, r->stream, &early))
		end_stream(n, s, &early);
}

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

static void on_said(void *arg, const struct relay_said *said)
{
	struct machine_network *n = arg;
	struct stream *s = said->op == RELAY_ENDED ? find_stream(n, said->stream) : NULL;

	if (s)
		end_stream(n, s, said);
	else if (said->op == RELAY_TOTAL || said->op == RELAY_FINISHED)
		on_total(n, said);
	else if (said->op == RELAY_ENDED && is_refusal(said))
		on_refused(n, said);
	else if (said->op == RELAY_ENDED && said->port)
		on_port_ended(n, said);
	else if (said->op == RELAY_ENDED)
		n->early[n->early_count++ % EARLY_MOST] = *said;
}

static void on_finished(void *arg)
{
	const struct machine_network *n = arg;

	if (n->listener)
		n->listener->finished(n->arg);
}

static void tell_lost(const struct machine_network *n)
{
	const struct result_connection c = {
		.sent = RESULT_UNKNOWN, .received = RESULT_UNKNOWN, .ms = RESULT_UNKNOWN,
		.verdict = net_told_names[NET_TOLD_LOST], .reason = n->lost,
	};

	if (n->listener)
		n->listener->lost(n->arg, &c);
}

static void on_lost(void *arg, const char *why)
{
	struct machine_network *n = arg;
	struct stream *s;

	n->lease = NULL;
	snprintf(n->lost, sizeof(n->lost), "%s", why);
	ports_free(take_ptr(n->ports));
	network_leave(take_ptr(n->job));
	kept_network_del(n->d->handover, take_ptr(n->record));
	while ((s = list_first(&n->streams, struct stream, node)))
		lose_stream(n, s);
	tell_lost(n);
	on_finished(n);
}

static void on_broke(void *arg, const char *why)
{
	struct machine_network *n = arg;
	char text[400];

	snprintf(text, sizeof(text), "the machine broke the network's protocol: %.300s", why);
	n->lease = NULL;
	if (n->listener)
		n->listener->broke(n->arg, text);
}

/* --- the door ----------------------------------------------------------------------- */

static void on_door(void *arg, int fd)
{
	struct machine_network *n = arg;

	if (n->record)
		n->record->no = network_no(n->job);
	if (n->lease)
		vm_network_door(n->lease, fd);
	else
		fd_close(&fd);
}

static void on_said_door(void *arg, const char *sentence)
{
	const struct machine_network *n = arg;

	if (n->lease)
		say(n, sentence);
}

/* Lists the blocks of the config, or of the policy. Return: NULL: no memory; to be freed. */
static struct net_block *make_routes(const struct machine_network *n,
				     const struct job_config *config, size_t *ret_count)
{
	struct net_block *routes = calloc(ROUTES_MOST, sizeof(*routes));

	if (routes)
		*ret_count = network_routes(n->d->network, n->uid, &config->network, routes,
					    ROUTES_MOST);
	return routes;
}

static struct vm_network_events events_of(struct machine_network *n)
{
	return (struct vm_network_events){
		.said = on_said, .finished = on_finished, .lost = on_lost,
		.broke = on_broke, .arg = n,
	};
}

static int start_relay(struct machine_network *n, const struct job_config *config,
		       struct err *err)
{
	const struct vm_network_events events = events_of(n);
	struct net_share share = network_share(n->d->network, n->uid);
	size_t ca_len;
	struct vm_network_options o = {
		.connections = (uint32_t)share.connections, .rate = (uint32_t)share.rate,
		.uid = n->uid, .bytes = share.bytes, .names = config->network_text,
		.ports = config_has_ports(&config->ports),
		.ca = network_ca(n->d->network, &ca_len),
	};
	auto_free struct net_block *routes = make_routes(n, config, &o.route_count);

	if (!routes)
		return err_sys(err, -ENOMEM, "the machine's network");
	o.route = routes;
	return vm_network(n->lease, &o, &events, err);
}

/* --- ports -------------------------------------------------------------------------- */

static void on_port(void *arg, unsigned port, int fd)
{
	struct machine_network *n = arg;
	int r = -EPIPE;

	if (n->lease)
		r = vm_network_port(n->lease, port, fd);
	else
		fd_close(&fd);
	if (r < 0)
		log_warn("port %u of %s is not served: %s", port, n->name, strerror(-r));
}

static void on_no_port(void *arg, unsigned port, const char *why)
{
	const struct machine_network *n = arg;
	char text[100];

	snprintf(text, sizeof(text), "port %u cannot be opened: %.60s", port, why);
	say(n, text);
}

static int open_ports(struct machine_network *n, const struct config_ports *ports,
		      struct err *err)
{
	int r = 0;

	ports_set_any(n->ports, ports->any);
	for (unsigned i = 0; r == 0 && i < ports->count; i++)
		r = ports_open(n->ports, ports->item[i], err);
	return r;
}

struct closing {
	struct machine_network *n;
	const struct config_ports *ports;
};

/* Closes a port that the config has no longer. */
static void keep_or_close(void *arg, unsigned port)
{
	const struct closing *c = arg;

	for (unsigned i = 0; i < c->ports->count; i++)
		if (c->ports->item[i] == port)
			return;
	ports_close(c->n->ports, port);
	if (c->n->lease)
		vm_network_close_port(c->n->lease, port);
}

static int change_ports(struct machine_network *n, const struct config_ports *ports)
{
	struct err err = { 0 };

	if (!ports->any)
		ports_each(n->ports, keep_or_close, &(struct closing){ n, ports });
	return open_ports(n, ports, &err);
}

/* Return: NULL without memory. */
static struct ports *new_ports(struct machine_network *n,
			       const struct machine_network_owner *owner)
{
	return n->ports = ports_new(network_ports(n->d->network), &(struct ports_owner){
		.key = owner->key, .uid = owner->uid, .gid = owner->gid,
		.ready = on_port, .failed = on_no_port, .arg = n });
}

static int make_ports(struct machine_network *n, const struct machine_network_owner *owner,
		      const struct config_ports *ports, struct err *err)
{
	if (!config_has_ports(ports))
		return 0;
	return new_ports(n, owner) ? open_ports(n, ports, err)
				   : err_sys(err, -ENOMEM, "the ports");
}

/* --- from the machine's grant to its end ---------------------------------------------- */

bool machine_network_wanted(const struct job_config *config)
{
	return config->network_text || config_has_ports(&config->ports);
}

static struct machine_network *blank(struct fsd *d, struct vm_lease *lease,
				     const struct machine_network_owner *owner)
{
	struct machine_network *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->d = d;
	n->lease = lease;
	n->uid = owner->uid;
	n->key = owner->key;
	snprintf(n->name, sizeof(n->name), "%s", owner->name);
	n->watch = (struct network_watch){
		.door = on_door, .record = on_record, .said = on_said_door, .who = n->name,
	};
	list_init(&n->streams);
	return n;
}

static int join(struct machine_network *n, const char *text, size_t size, struct err *err)
{
	int r = size ? network_join(n->d->network, n->uid, text, size, &n->watch, n,
				    &n->job) : 0;

	return r < 0 ? err_sys(err, r, "the machine's place in the network") : 0;
}

int machine_network_new(struct fsd *d, struct vm_lease *lease,
			const struct machine_network_owner *owner,
			const struct job_config *config, struct machine_network **ret,
			struct err *err)
{
	struct machine_network *n = blank(d, lease, owner);
	const char *wish = config->network_text;
	int r;

	if (!n)
		return err_sys(err, -ENOMEM, "the machine's network");
	n->record = kept_network_add(d->handover, n->key, wish);
	r = start_relay(n, config, err);
	if (r == 0)
		r = join(n, wish, wish ? strlen(wish) : 0, err);
	if (r == 0)
		r = make_ports(n, owner, &config->ports, err);
	if (r < 0) {
		machine_network_free(n);
		return r;
	}
	*ret = n;
	return 0;
}

void machine_network_free(struct machine_network *n)
{
	if (!n)
		return;
	network_leave(n->job);
	ports_free(n->ports);
	list_for_each(pos, tmp, &n->streams)
		drop_stream(n, list_entry(pos, struct stream, node));
	kept_network_del(n->d->handover, take_ptr(n->record));
	free(n);
}

/* --- from the previous server --------------------------------------------------------- */

/* Their ends come from the relay, or have come and wait in its account. */
static void adopt_streams(struct machine_network *n)
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

static int take_over(struct machine_network *n, const struct machine_network_owner *owner)
{
	const struct vm_network_events events = events_of(n);
	const struct kept_network *k = n->record;
	uint32_t no = k->no; /* join() writes another one */
	const char *wish;
	struct err err;
	size_t size;
	int r = vm_network_adopt(n->lease, &events);

	if (r < 0)
		return r;
	n->sent = k->sent;
	n->received = k->received;
	adopt_streams(n);
	wish = kept_network_its_wish(k, &size);
	r = join(n, wish, size, &err);
	if (n->job)
		network_was(n->job, no);
	if (r < 0 || !ports_are_kept(network_ports(n->d->network), n->key))
		return r;
	return new_ports(n, owner) ? 0 : -ENOMEM;
}

int machine_network_adopt(struct fsd *d, struct vm_lease *lease,
			  const struct machine_network_owner *owner,
			  struct machine_network **ret)
{
	struct kept_network *k = kept_network_find(d->handover, owner->key);
	struct machine_network *n = k ? blank(d, lease, owner) : NULL;
	int r;

	if (!n)
		return k ? -ENOMEM : -ENOENT;
	n->record = k;
	k->adopted = 1;
	r = take_over(n, owner);
	if (r < 0)
		machine_network_free(n);
	else
		*ret = n;
	return r;
}

void machine_network_listen(struct machine_network *n,
			    const struct network_listener *listener, void *arg)
{
	n->listener = listener;
	n->arg = arg;
	if (listener && n->lost[0])
		tell_lost(n);
}

/* Before the door has the new rules, the machine has their routes; an old route leads to
 * the door, which refuses. */
static int change_rules(struct machine_network *n, const struct job_config *config)
{
	const char *text = config->network_text ? config->network_text : "[]";
	struct vm_network_options o = { .names = true };
	auto_free struct net_block *routes = make_routes(n, config, &o.route_count);
	int r = routes ? 0 : -ENOMEM;

	o.route = routes;
	if (r == 0 && o.route_count && n->lease)
		r = vm_network_route(n->lease, &o);
	if (r < 0)
		return r;
	kept_network_wish(n->record, text);
	return network_change(n->job, text, strlen(text));
}

int machine_network_change(struct machine_network *n, const struct job_config *config)
{
	int r = n->job ? change_rules(n, config) : 0;

	return r == 0 && n->ports ? change_ports(n, &config->ports) : r;
}

void machine_network_finish(struct machine_network *n)
{
	if (n->lease)
		vm_network_finish(n->lease);
	else
		on_finished(n);
}
