/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a machine: joins its relay with the door. The door says what was reached
 * and what was refused: a program that has taken over its relay cannot forge that. The
 * relay says how many bytes a stream had and why it ended (machine_streams.c).
 *
 * A machine outlives a server that is killed, and so does its relay. The next server
 * adopts both by the records of network_kept.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/network/ports.h"
#include "machine_network_int.h"

#define ROUTES_MOST 512u

/* --- to the listener ---------------------------------------------------------------- */

static void say(const struct machine_network *n, const char *sentence)
{
	if (n->listener)
		n->listener->said(n->arg, sentence);
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

	n->lease = NULL;
	snprintf(n->lost, sizeof(n->lost), "%s", why);
	ports_free(take_ptr(n->ports));
	network_leave(take_ptr(n->job));
	kept_network_del(n->d->handover, take_ptr(n->record));
	machine_streams_lose(n);
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

/* Lists the blocks of the wish, or of the policy. Return: NULL: no memory; to be freed. */
static struct net_block *make_routes(const struct machine_network *n,
				     const struct net_wish *wish, size_t *ret_count)
{
	struct net_block *routes = calloc(ROUTES_MOST, sizeof(*routes));

	if (routes)
		*ret_count = network_routes(n->d->network, n->uid, wish, routes, ROUTES_MOST);
	return routes;
}

/* Gives a machine that runs the routes of the wish; an old route leads to the door, which
 * refuses. Return: -EINVAL: the machine is a single job's, and has begun. */
static int send_routes(const struct machine_network *n, const struct net_wish *wish)
{
	struct vm_network_options o = { .names = true };
	auto_free struct net_block *routes = make_routes(n, wish, &o.route_count);

	o.route = routes;
	if (!routes)
		return -ENOMEM;
	return o.route_count && n->lease ? vm_network_route(n->lease, &o) : 0;
}

/* The operator may allow addresses that he did not allow before. */
static void on_renewed(void *arg, const char *text, size_t len)
{
	const struct machine_network *n = arg;
	struct net_wish wish = { .form = NET_WISH_NONE };
	struct err err = { 0 };
	int r = net_wish_read(text, len, &wish, &err);

	if (r == 0 && wish.form == NET_WISH_ALL)
		r = send_routes(n, &wish);
	if (r < 0)
		log_debug("%s gets no new routes: %s", n->name, strerror(-r));
	net_wish_done(&wish);
}

static struct vm_network_events events_of(struct machine_network *n)
{
	return (struct vm_network_events){
		.said = machine_streams_said, .finished = on_finished, .lost = on_lost,
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
	auto_free struct net_block *routes = make_routes(n, &config->network, &o.route_count);

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
		.door = on_door, .renewed = on_renewed, .record = machine_streams_record,
		.said = on_said_door,
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
	machine_streams_drop(n);
	kept_network_del(n->d->handover, take_ptr(n->record));
	free(n);
}

/* --- from the previous server --------------------------------------------------------- */

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
	machine_streams_adopt(n);
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

/* Before the door has the new rules, the machine has their routes. */
static int change_rules(struct machine_network *n, const struct job_config *config)
{
	const char *text = config->network_text ? config->network_text : "[]";
	int r = send_routes(n, &config->network);

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
