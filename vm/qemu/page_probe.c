/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks one machine off a zygote, heats its runners once, and asks the jailer to teach
 * the zygote its written pages. Then it kills the machine.
 *
 * The order of events: fork, RESUME, HEAT, HEATED, teach, kill, `gone`. `done` is called
 * once, from on_gone(), with or without success; a timer bounds the whole. A struct
 * page_probe owns its process and channel. All runs on the loop.
 */
#include "page_probe.h"

#include <string.h>

#include "layout/base/log.h"
#include "vm/channel/channel.h"
#include "restore.h"

#define LIMIT_S 20u /* most time for a probe; it usually takes half a second */
#define MONITOR_S 10u /* seconds that an answer of the monitor may take */

struct page_probe {
	struct loop *loop;
	struct process *process; /* owned */
	struct channel *ch;      /* owned */
	struct loop_timer limit;
	uint32_t zygote, runners;
	bool taught;
	page_probe_done_fn *done;
	void *arg;
};

static void on_heated(void *arg, uint32_t runners)
{
	struct page_probe *s = arg;

	s->taught = runners == s->runners &&
		    process_teach(s->process, s->zygote) == 0;
	process_kill(s->process, "it has served");
}

static void on_broken(void *arg, enum vm_failure why, const char *sentence,
		      bool eof)
{
	(void)why;
	(void)eof;
	process_kill(((struct page_probe *)arg)->process, sentence);
}

static const struct channel_events channel_events = {
	.heated = on_heated,
	.broken = on_broken,
};

static void on_event(void *arg, const char *name, const char *status)
{
	struct page_probe *s = arg;

	(void)status;
	if (!strcmp(name, "RESUME"))
		channel_heat(s->ch, s->runners, 0);
}

static void on_gone(void *arg, const char *why, bool taken)
{
	struct page_probe *s = arg;

	(void)taken;
	if (!s->taught)
		log_info("machines are heated one by one: the one that was to "
			 "show what they need has ended: %s", why);
	s->done(s->arg, s->taught);
}

static const struct process_events process_events = {
	.event = on_event,
	.gone = on_gone,
};

static void on_limit(struct loop_timer *t)
{
	process_kill(((struct page_probe *)t->arg)->process, "it took too long");
}

static void on_reply(void *arg, const struct qmp_reply *reply)
{
	if (reply->code < 0 && reply->code != -EPIPE)
		process_kill(((struct page_probe *)arg)->process, reply->text);
}

static int begin(struct page_probe *s, int wire, unsigned scale)
{
	int r = channel_new(s->loop, wire, PHASE_IDLE, scale, &channel_events,
			    s, &s->ch);

	if (r == 0)
		r = channel_own(s->ch);
	if (r == 0)
		r = qmp_send(process_qmp(s->process), "cont", NULL,
			     MONITOR_S * NS_PER_S, on_reply, s);
	return r;
}

int page_probe_new(const struct template_context *g, const struct template *t,
		   uint32_t zygote, uint32_t runners, page_probe_done_fn *done,
		   void *arg, struct page_probe **ret, struct err *err)
{
	struct page_probe *s = calloc(1, sizeof(*s));
	struct backend_template about;
	int wire, r;

	if (!s)
		return err_sys(err, -ENOMEM, "a machine for a zygote");
	template_describe(t, &about);
	*s = (struct page_probe){
		.loop = g->host->loop, .zygote = zygote, .runners = runners,
		.done = done, .arg = arg,
		.limit = { .fn = on_limit, .arg = s },
	};
	r = restore_fork(g, t, template_class(t), zygote, false,
			 &process_events, s, &s->process, &wire, err);
	if (r == 0) {
		r = begin(s, wire, about.scale);
		if (r < 0)
			err_sys(err, r, "a machine for a zygote");
	}
	if (r < 0) {
		page_probe_free(s);
		return r;
	}
	loop_timer_set(s->loop, &s->limit,
		       LIMIT_S * vm_class_patience(template_class(t)) *
			       NS_PER_S);
	*ret = s;
	return 0;
}

void page_probe_free(struct page_probe *s)
{
	if (!s)
		return;
	loop_timer_del(&s->limit);
	channel_free(s->ch);
	process_free(s->process);
	free(s);
}
