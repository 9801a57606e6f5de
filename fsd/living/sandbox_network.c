/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a sandbox's or session's machine. It lives as long as the machine. A
 * stream of a sandbox belongs to no job, so the sandbox's file `network` lists the
 * LINES_MOST streams that ended last. The streams of a session are reported to the step
 * that runs.
 */
#include "sandbox_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsd/network/ports.h"
#include "fsd/run/machine_network.h"

#define LINES_MOST 1000u

struct sandbox_network {
	struct machine_network *machine; /* owned */
	char *line[LINES_MOST]; /* owned; a ring */
	unsigned next;          /* index of the oldest line, which is replaced next */
};

/* Adds text (consumed) to the ring, in place of the oldest line. */
static void add_line(struct sandbox_network *n, char *text)
{
	free(n->line[n->next]);
	n->line[n->next] = text;
	n->next = (n->next + 1) % LINES_MOST;
}

static void on_ended(void *arg, uint32_t stream, const struct result_connection *c)
{
	struct sandbox *s = arg;
	auto_buf struct buf text = { 0 };

	(void)stream;
	result_connection_put(&text, c);
	if (!text.failed)
		add_line(s->network, take_ptr(text.data));
}

static void on_opened(void *arg, uint32_t stream, const struct result_connection *c)
{
	(void)arg;
	(void)stream;
	(void)c;
}

static void on_total(void *arg, uint64_t sent, uint64_t received)
{
	(void)arg;
	(void)sent;
	(void)received;
}

static void on_said(void *arg, const char *sentence)
{
	const struct sandbox *s = arg;

	log_info("sandbox %s of user %u: network: %s", s->name, s->uid, sentence);
}

static void on_lost(void *arg, const struct result_connection *c)
{
	on_said(arg, c->reason);
	on_ended(arg, 0, c);
}

static void on_finished(void *arg)
{
	(void)arg;
}

static void on_broke(void *arg, const char *sentence)
{
	sandbox_events.failed(arg, VM_FAILED_LOST, sentence);
}

static const struct network_listener listener = {
	.opened = on_opened, .ended = on_ended, .total = on_total, .said = on_said,
	.lost = on_lost, .finished = on_finished, .broke = on_broke,
};

static struct machine_network_owner owner_of(const struct sandbox *s)
{
	return (struct machine_network_owner){
		.uid = s->uid, .gid = s->gid, .name = s->name,
		.key = PORTS_KEY(PORT_OF_SANDBOX, s->no),
	};
}

int sandbox_network_begin(struct sandbox *s, struct err *err)
{
	const struct machine_network_owner owner = owner_of(s);
	const struct job_config *c = sandbox_machine(s);
	int r;

	if (!machine_network_wanted(c))
		return 0;
	s->network = calloc(1, sizeof(*s->network));
	if (!s->network)
		return err_sys(err, -ENOMEM, "the machine's network");
	r = machine_network_new(s->d, s->lease, &owner, c, &s->network->machine, err);
	if (r == 0 && !s->single)
		machine_network_listen(s->network->machine, &listener, s);
	return r;
}

void sandbox_network_adopt(struct sandbox *s)
{
	const struct machine_network_owner owner = owner_of(s);
	struct sandbox_network *n = calloc(1, sizeof(*n));
	int r = n ? machine_network_adopt(s->d, s->lease, &owner, &n->machine) : -ENOMEM;

	if (r < 0) {
		free(n);
		if (r != -ENOENT)
			log_warn("%s %s of user %u: its network is lost: %s",
				 sandbox_kind(s), s->name, s->uid, strerror(-r));
		return;
	}
	s->network = n;
	if (!s->single)
		machine_network_listen(n->machine, &listener, s);
}

void sandbox_network_end(struct sandbox *s)
{
	struct sandbox_network *n = take_ptr(s->network);

	if (!n)
		return;
	machine_network_free(n->machine);
	for (unsigned i = 0; i < LINES_MOST; i++)
		free(n->line[i]);
	free(n);
}

struct machine_network *sandbox_network_of(const struct sandbox *s)
{
	return s->network ? s->network->machine : NULL;
}

void sandbox_network_changed(const struct sandbox *s)
{
	int r = s->network ? machine_network_change(s->network->machine,
						    &s->config.machine) : 0;

	if (r < 0)
		log_warn("sandbox %s of user %u: its network does not change: %s", s->name,
			 s->uid, strerror(-r));
}

int sandbox_show_network(const struct sandbox *s, struct buf *out)
{
	const struct sandbox_network *n = s->network;

	for (unsigned i = 0; n && i < LINES_MOST; i++) {
		const char *line = n->line[(n->next + i) % LINES_MOST];

		if (line)
			buf_fmt(out, "%s\n", line);
	}
	return out->failed;
}
