/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restores one machine from a template, heats its runners and stops it, so that machines
 * can be forked off it. The order: MIGRATION completed, cont, HEAT, HEATED, stop, ready.
 *
 * A struct zygote owns its process and its channel. After give_up() its channel is gone
 * and late answers are ignored; `gone` follows when the jailer has reaped the process.
 * All runs on the loop.
 */
#include "zygote.h"

#include <stdio.h>
#include <string.h>

#include "vm/channel/channel.h"
#include "restore.h"

#define READY_S 60u /* limit until its heat is complete; it takes some 4 s */
#define MONITOR_S 10u /* seconds that an answer of the monitor may take */

struct zygote {
	struct loop *loop;
	struct process *process;   /* owned */
	struct channel *ch; /* owned; NULL once it is ending */
	struct loop_timer limit; /* time to ready() */
	struct zygote_heat heat;
	uint64_t began_ns;
	bool ready;
	bool ended; /* the zygote is being killed: ignore late answers */
	const struct zygote_events *ev;
	void *arg;
};

static void give_up(struct zygote *z, const char *why)
{
	z->ended = true;
	z->ready = false;
	channel_free(z->ch);
	z->ch = NULL;
	process_kill(z->process, why);
}

static void on_reply(void *arg, const struct qmp_reply *reply)
{
	/* -EPIPE: QEMU is ending; gone() will report why. */
	if (reply->code < 0 && reply->code != -EPIPE)
		give_up(arg, reply->text);
}

static void on_stopped(void *arg, const struct qmp_reply *reply)
{
	struct zygote *z = arg;

	on_reply(arg, reply);
	if (reply->code < 0 || z->ended)
		return;
	z->ready = true;
	loop_timer_del(&z->limit);
	z->ev->ready(z->arg, z);
}

static void send_to(struct zygote *z, const char *command,
		    const char *arguments, qmp_reply_fn *fn)
{
	qmp_send(process_qmp(z->process), command, arguments,
		 MONITOR_S * NS_PER_S, fn, z);
}

static void send_command(void *arg, const char *command, const char *arguments)
{
	send_to(arg, command, arguments, on_reply);
}

/* --- events of its guest ------------------------------------------------ */

static void on_heated(void *arg, uint32_t runners)
{
	struct zygote *z = arg;

	if (runners != z->heat.runners)
		give_up(z, "not all of its runners have answered");
	else
		send_to(z, "stop", NULL, on_stopped);
}

static void on_broken(void *arg, enum vm_failure why, const char *sentence,
		      bool eof)
{
	struct zygote *z = arg;

	(void)why;
	if (eof)
		process_is_ending(z->process);
	else
		give_up(z, sentence);
}

static const struct channel_events channel_events = {
	.heated = on_heated,
	.broken = on_broken,
};

/* --- events of its process ---------------------------------------------- */

static void on_event(void *arg, const char *name, const char *status)
{
	struct zygote *z = arg;

	if (!z->ended && restore_is_complete(name, status)) {
		send_command(z, "cont", NULL);
		channel_heat(z->ch, z->heat.runners, z->heat.rounds);
	}
}

static void on_gone(void *arg, const char *why, bool taken)
{
	struct zygote *z = arg;

	(void)taken;
	z->ready = false;
	z->ev->gone(z->arg, z, why);
}

static void on_cost(void *arg, uint64_t bytes)
{
	struct zygote *z = arg;

	z->ev->cost(z->arg, bytes);
}

static const struct process_events process_events = {
	.event = on_event,
	.cost = on_cost,
	.gone = on_gone,
};

static void on_limit(struct loop_timer *t)
{
	give_up(t->arg, "it was not hot in time");
}

/* --- start and end ------------------------------------------------------ */

int zygote_new(const struct template_context *context, const struct template *t,
	       const struct zygote_heat *heat, const struct zygote_events *ev,
	       void *arg, struct zygote **ret, struct err *err)
{
	struct zygote *z = calloc(1, sizeof(*z));
	struct backend_template about;
	int wire, r;

	if (!z)
		return err_sys(err, -ENOMEM, "a zygote");
	template_describe(t, &about);
	*z = (struct zygote){
		.loop = context->host->loop, .heat = *heat, .ev = ev,
		.arg = arg, .began_ns = now_ns(),
		.limit = { .fn = on_limit, .arg = z },
	};
	r = restore_start(context, t, template_class(t), JAIL_ZYGOTE,
			  &process_events, z, &z->process, &wire, err);
	if (r == 0) {
		r = channel_new(z->loop, wire, PHASE_IDLE,
				about.scale *
					vm_class_patience(template_class(t)),
				&channel_events, z, &z->ch);
		if (r < 0)
			err_sys(err, r, "a zygote's wire");
	}
	if (r < 0) {
		zygote_free(z);
		return r;
	}
	loop_timer_set(z->loop, &z->limit,
		       READY_S * vm_class_patience(template_class(t)) *
			       NS_PER_S);
	restore_send(send_command, z);
	*ret = z;
	return 0;
}

void zygote_free(struct zygote *z)
{
	if (!z)
		return;
	loop_timer_del(&z->limit);
	channel_free(z->ch);
	process_free(z->process);
	free(z);
}

void zygote_ask_cost(struct zygote *z)
{
	process_ask_cost(z->process);
}

void zygote_end(struct zygote *z, const char *why)
{
	give_up(z, why);
}

const struct zygote_heat *zygote_heat(const struct zygote *z)
{
	return &z->heat;
}

uint64_t zygote_began_ns(const struct zygote *z)
{
	return z->began_ns;
}

uint32_t zygote_id(const struct zygote *z)
{
	return z && z->ready ? process_id(z->process) : 0;
}
