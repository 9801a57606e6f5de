/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a run. A machine of the run's own gets its network when it is granted.
 * When the program has ended, its last bytes are delivered while output/ is collected; the
 * end of the run waits at most 2 s for them. A session's network outlives the run, which
 * only listens to its events. The policy may change while the mount lives, so no result of
 * a check is kept. The list of connections is in shared memory, for the next server.
 */
#include "run_network.h"

#include <errno.h>
#include <stdlib.h>

#include "connections.h"
#include "fsd/handover/handover.h"
#include "fsd/network/network.h"
#include "fsd/network/ports.h"
#include "machine_network.h"
#include "network_kept.h"
#include "run_int.h"
#include "vm/net/network.h"

static HANDOVER_TABLE(connections_records, "connections", 2, struct connections, 1024,
		      .zeroed = offsetof(struct connections, item));

struct run_network {
	struct connections *seen; /* owned: the connections so far */
	bool kept; /* `seen` is a record of connections_records; else from calloc() */
	struct result_network shown; /* for the result; its list is: */
	struct result_connection list[CONNECTIONS_MOST];
	const struct run_network_hooks *hooks;
	struct machine_network *own; /* owned; NULL: a session's, or the machine has ended */
	bool hidden;   /* the operator wants no connections in results */
	bool finishing; /* machine_network_finish() was called */
	bool finished;  /* the listener's finished() was called */
	bool complete;  /* the run waits for `finished`: call hooks->complete() then */
};

int run_check_network(const struct fsd *d, uid_t uid, const struct job_config *config,
		      struct err *err)
{
	struct err why = { 0 };

	if (config_has_ports(&config->ports) && !network_allows_ports(d->network, uid))
		return err_set(err, -EINVAL, "config.json: \"ports\": the operator lets no "
			       "other program connect to programs here; see .fsd/network");
	if (!config->network_text ||
	    network_check(d->network, uid, &config->network, &why) == 0)
		return 0;
	return err_set(err, -EINVAL, "config.json: %s", why.text);
}

#define LOST "its relay ended with the server that had begun it"

/* The members of a struct machine_network_owner for a run with a machine of its own. */
#define OWNER(run)                                                                       \
	.uid = (run)->job->meta.uid, .gid = (run)->job->meta.gid,                        \
	.name = (run)->job->meta.name,                                                   \
	.key = PORTS_KEY(PORT_OF_JOB, (run)->job->meta.no)

/* --- what happens ------------------------------------------------------------------- */

static void log_line(void *arg, const char *text)
{
	struct run *run = arg;

	if (run->job)
		job_log(run->job, "network: %s", text);
}

static void tell(struct run *run, const char *text)
{
	if (connections_say(run->machine.network->seen, text))
		log_line(run, text);
}

static void describe(struct run *run, const struct result_connection *c, bool is_open)
{
	auto_buf struct buf text = { 0 };

	connection_describe(c, is_open, &text);
	if (!text.failed)
		tell(run, text.data);
}

static void on_opened(void *arg, uint32_t stream, const struct result_connection *c)
{
	struct run *run = arg;

	connections_open(run->machine.network->seen, stream, c);
	describe(run, c, true);
}

static void on_ended(void *arg, uint32_t stream, const struct result_connection *c)
{
	struct run *run = arg;

	connections_end(run->machine.network->seen, stream, c);
	describe(run, c, false);
}

static void on_port_ended(void *arg, unsigned port, uint64_t sent, uint64_t received)
{
	struct run *run = arg;

	connections_port(run->machine.network->seen, port, sent, received);
}

static void on_total(void *arg, uint64_t sent, uint64_t received)
{
	struct run *run = arg;

	run->machine.network->seen->sent = sent;
	run->machine.network->seen->received = received;
}

static void on_said(void *arg, const char *sentence)
{
	tell(arg, sentence);
}

static void on_lost(void *arg, const struct result_connection *c)
{
	struct run *run = arg;
	char text[RELAY_TEXT_MAX + 64];

	connections_end(run->machine.network->seen, 0, c);
	snprintf(text, sizeof(text), "lost: %s; the program runs on without", c->reason);
	tell(run, text);
}

static void on_finished(void *arg)
{
	struct run *run = arg;
	struct run_network *n = run->machine.network;

	n->finished = true;
	if (!n->complete)
		return;
	n->complete = false;
	n->hooks->complete(run);
}

static void on_broke(void *arg, const char *sentence)
{
	struct run *run = arg;

	run->machine.network->hooks->broke(run, sentence);
}

static const struct network_listener listener = {
	.opened = on_opened, .ended = on_ended, .port_ended = on_port_ended,
	.total = on_total, .said = on_said,
	.lost = on_lost, .finished = on_finished, .broke = on_broke,
};

/* --- from the machine to the end ------------------------------------------------------ */

/* Return: the connections of the run that an earlier server has recorded, or NULL. */
static struct connections *find_seen(const struct run *run)
{
	struct connections *c;

	for (uint32_t i = 0; (c = handover_next(run->d->handover, &connections_records, &i)); )
		if (c->job == run->job->meta.no && c->run == run->number)
			return c;
	return NULL;
}

/* Finds or makes the list of the run's connections. Return: 0 or -ENOMEM. */
static int make_seen(const struct run *run, struct run_network *n)
{
	n->seen = find_seen(run);
	if (!n->seen)
		n->seen = handover_add(run->d->handover, &connections_records,
				       &(uint32_t){ 0 });
	n->kept = n->seen;
	if (!n->kept) {
		n->seen = calloc(1, sizeof(*n->seen));
		return n->seen ? 0 : -ENOMEM;
	}
	n->seen->job = run->job->meta.no;
	n->seen->run = run->number;
	if (n->seen->live)
		connections_recover(n->seen);
	handover_publish(&n->seen->live);
	return 0;
}

/* Return: NULL without memory. */
static struct run_network *network_of(struct run *run,
				      const struct run_network_hooks *hooks)
{
	struct net_share share = network_share(run->d->network, run->job->meta.uid);
	struct run_network *n = run->machine.network;

	if (!n)
		n = run->machine.network = calloc(1, sizeof(*n));
	if (n && !n->seen && make_seen(run, n) < 0)
		free(take_ptr(n));
	run->machine.network = n;
	if (n) {
		n->hooks = hooks;
		n->hidden = share.log == NET_LOG_NONE;
		n->seen->totals_only = share.log == NET_LOG_TOTALS;
	}
	return n;
}

int run_network_begin(struct run *run, const struct run_network_hooks *hooks,
		      struct err *err)
{
	const struct job_config *c = run->spec.config;
	struct run_network *n;
	int r;

	if (!machine_network_wanted(c) || run->host->stays)
		return 0;
	n = network_of(run, hooks);
	if (!n)
		return err_sys(err, -ENOMEM, "the machine's network");
	run_network_leave(run); /* ends the network of an earlier machine, which died
				 * before it got the job */
	n->hidden |= !c->network_text;
	r = machine_network_new(run->d, run->lease, &(struct machine_network_owner){
		OWNER(run) }, c, &n->own, err);
	if (r == 0)
		machine_network_listen(n->own, &listener, run);
	return r;
}

void run_network_join(struct run *run, const struct run_network_hooks *hooks,
		      struct machine_network *n)
{
	if (n && network_of(run, hooks))
		machine_network_listen(n, &listener, run);
	else if (!n && run->spec.config->network_text)
		log_line(run, "lost: " LOST "; the program runs on without");
}

void run_network_adopt(struct run *run, const struct run_network_hooks *hooks)
{
	const struct job_config *c = run->spec.config;
	struct run_network *n;
	int r;

	if (!machine_network_wanted(c) || run->host->stays)
		return;
	n = network_of(run, hooks);
	if (!n) {
		log_line(run, "lost: " LOST);
		return;
	}
	n->hidden |= !c->network_text;
	r = machine_network_adopt(run->d, run->lease, &(struct machine_network_owner){
		OWNER(run) }, &n->own);
	if (r == 0)
		machine_network_listen(n->own, &listener, run);
	else if (r != -ENOENT) /* -ENOENT: the earlier server has reported the loss */
		on_lost(run, &(struct result_connection){
			.sent = RESULT_UNKNOWN, .received = RESULT_UNKNOWN,
			.ms = RESULT_UNKNOWN, .reason = LOST,
			.verdict = net_told_names[NET_TOLD_LOST] });
}

void run_networks_adopted(struct fsd *d)
{
	struct connections *c;

	for (uint32_t i = 0; (c = handover_next(d->handover, &connections_records, &i)); ) {
		const struct job *job = job_by_no(d, c->job);
		const struct run *run = job ? job->run : NULL;

		if (!run || !run->machine.network || run->machine.network->seen != c)
			c->live = 0;
	}
	handover_recycle(d->handover, &connections_records);
	kept_networks_adopted(d->handover);
}

void run_network_exited(struct run *run)
{
	struct run_network *n = run->machine.network;

	if (!n || !n->own || n->finishing)
		return;
	n->finishing = true;
	machine_network_finish(n->own);
}

bool run_network_waits(struct run *run)
{
	struct run_network *n = run->machine.network;

	if (!n || !n->finishing || n->finished)
		return false;
	n->complete = true;
	return true;
}

void run_network_stop(struct run *run)
{
	struct run_network *n = run->machine.network;

	if (!n)
		return;
	n->complete = false;
	if (n->own)
		machine_network_listen(n->own, NULL, NULL);
	connections_say_again(n->seen, log_line, run);
}

void run_network_leave(struct run *run)
{
	if (run->machine.network)
		machine_network_free(take_ptr(run->machine.network->own));
}

void run_network_fill(const struct run *run, struct job_result *res)
{
	struct run_network *n = run->machine.network;

	if (!n)
		return;
	res->port_count = connections_ports(n->seen);
	if (res->port_count || config_has_ports(&run->spec.config->ports))
		res->ports = n->seen->port;
	if (n->hidden)
		return;
	connections_show(n->seen, n->list, &n->shown);
	res->network = &n->shown;
}

void run_network_done(struct run *run)
{
	struct run_network *n = run->machine.network;

	run_network_leave(run);
	if (n && n->kept)
		handover_del(run->d->handover, &connections_records, n->seen);
	else if (n)
		free(n->seen);
	free(take_ptr(run->machine.network));
}
