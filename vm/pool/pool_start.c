/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts one machine of the pool, grants it to a lease, and handles its events
 * until it is gone. A lease whose machine never sent a frame about the job
 * returns to the queue of its class. All functions run on the loop.
 */
#include "pool_class.h"
#include "pool_shared.h"

#include "layout/base/log.h"

#define AGAIN_MS 5000 /* a job gets another machine only within this time */
/* once no lease was granted and no machine started for this long, idle machines and
 * zygotes are improved */
#define QUIET_MS 2000

void pool_run(struct vm_lease *l)
{
	struct vm_replay *t = l->job->replay;

	if (t)
		pool_sign(l, &t->origin);
	machine_run(l->machine, l->job, l->again >= AGAIN_MAX, l->events,
		    l->arg);
}

void pool_grant(struct machine *m, enum vm_source source)
{
	struct pool_class *c = m->owner;
	struct vm_lease *l = list_first(&c->waiting, struct vm_lease, node);

	list_del(&l->node);
	c->waiting_count--;
	machine_lease(m, l);
	l->machine = m;
	l->granted = true;
	l->info = (struct vm_lease_info){
		.source = source,
		.accel = c->tmpl.accel,
		.template_id = c->tmpl.id,
		.granted_ns = now_ns(),
	};
	c->vm->quiet_ns = l->info.granted_ns + QUIET_MS * NS_PER_MS;
	if (source == VM_WARM)
		c->vm->stats.jobs_warm++;
	else
		c->vm->stats.jobs_restored++;
	if (l->shared) /* the first machine died without a frame */
		pool_share(l);
	else if (l->job)
		pool_run(l);
	else
		pool_defer(l);
}

uint32_t class_heat_for(const struct pool_class *c, const struct vm_lease *l)
{
	return c->tmpl.accel == VM_ACCEL_TCG
		       ? c->tmpl.runners & 1u << l->need.runner : 0;
}

/* Returns whether the machine is still being heated, and only for the runner of the first
 * waiting lease: that lease then waits for the end of the heat. */
static bool is_nearly_hot(const struct pool_class *c, const struct machine *m)
{
	const struct vm_lease *l =
		list_first(&c->waiting, struct vm_lease, node);
	uint32_t heat = class_heat_for(c, l);

	return heat && m->heat == heat && !(m->heated & heat);
}

static bool on_idle(void *arg, struct machine *m)
{
	struct pool_class *c = m->owner;

	(void)arg;
	/* the machine has answered a HEAT */
	if (m->state == MACHINE_HEATING && m->heated)
		class_good_machine(c);
	if (c->slow)
		pool_kick(c->vm);
	if (list_empty(&c->waiting) || is_nearly_hot(c, m))
		return false;
	pool_grant(m, VM_RESTORED);
	pool_kick(c->vm);
	return true;
}

static void on_warm(void *arg, struct machine *m)
{
	class_ask_cost(m->owner, m);
	pool_kick(arg);
}

static void on_cost(void *arg, struct machine *m, uint64_t bytes)
{
	class_costs(m->owner, m, bytes);
	pool_kick(arg);
}

/*
 * Decides whether the job may run on another machine, without a word to its owner. If
 * this machine has sent no frame since it got the job, it was dead or frozen before: the
 * job did not run there, or its effects died with the machine. AGAIN_MS does not apply
 * if the machine failed before it had the whole job (VM_FAILED_START): it cannot have run
 * it.
 */
static bool may_have_another(const struct vm_lease *l, const struct machine *m,
			     enum vm_failure why)
{
	if (!l || m->heard || l->runs > 1 || (l->shared && l->vm->broken))
		return false; /* the server will end: no other machine for a shared one */
	/* the jailer died, and all machines with it: no limit, the job is not at fault */
	return l->vm->broken ||
	       (l->again < AGAIN_MAX &&
		(!l->first_run_ns || why == VM_FAILED_START ||
		 now_ns() - l->first_run_ns < AGAIN_MS * NS_PER_MS));
}

static void have_another(struct vm_lease *l, struct machine *m,
			 const char *sentence)
{
	struct pool_class *c = l->cls;

	log_warn("a machine did not take its job (%s); another one has it",
		 sentence);
	m->lease = NULL;
	if (l->job && l->job->replay)
		replay_invalidate(l->job->replay);
	loop_call_del(&l->call);
	pool_lose_lanes(l);
	l->machine = NULL;
	l->granted = false;
	l->again++;
	list_add(&c->waiting, &l->node);
	c->waiting_count++;
	if (c->vm->broken) {
		lease_strand(l);
		return;
	}
	/* Other machines may be frozen by the same cause. */
	list_for_each(pos, tmp, &c->vm->machines)
		machine_probe(list_entry(pos, struct machine, node));
}

static void fail_all(struct vm_lease *l, enum vm_failure why,
		     const char *sentence)
{
	pool_fail_lanes(l, sentence);
	lease_fail(l, why, sentence);
}

static void on_broken(void *arg, struct machine *m, enum vm_failure why,
		      const char *sentence)
{
	struct machines *vm = arg;
	struct vm_lease *l = m->lease;

	vm->stats.machines_failed++;
	if (vm->broken) /* the jailer died, so neither machine nor template is at fault */
		;
	else if (m->stored && !m->heard)
		class_bad_idle(m->owner, sentence);
	else if (!m->heard && (!l || m->used || why == VM_FAILED_START))
		class_bad_machine(m->owner, sentence, !m->taken);
	if (may_have_another(l, m, why))
		have_another(l, m, sentence);
	else if (l)
		fail_all(l, why, sentence);
	pool_kick(vm);
}

static void on_heard(void *arg, struct machine *m)
{
	(void)arg;
	class_good_machine(m->owner);
	if (m->stored)
		class_good_idle(m->owner);
}

static void on_network_ended(void *arg, struct machine *m)
{
	(void)arg;
	lease_network_lost(m->lease);
}

static void on_gone(void *arg, struct machine *m)
{
	struct machines *vm = arg;

	list_del(&m->node);
	if (m->lease)
		m->lease->machine = NULL;
	if (vm->watch.freed)
		vm->watch.freed(vm->watch.arg);
	pool_kick(vm);
}

const struct machine_events pool_machine_events = {
	.idle = on_idle,
	.heard = on_heard,
	.warm = on_warm,
	.cost = on_cost,
	.broken = on_broken,
	.network_ended = on_network_ended,
	.gone = on_gone,
};

bool pool_start(struct pool_class *c, uint32_t heat)
{
	struct machines *vm = c->vm;
	struct machine_spec spec = {
		.loop = vm->loop, .backend = vm->backend, .cls = &c->cls,
		.scale = c->tmpl.scale, .heat = heat, .rounds = HEAT_ROUNDS,
		.ev = &pool_machine_events, .arg = vm, .owner = c,
	};
	struct machine *m;
	struct err err;

	if (machine_new(&spec, &m, &err) < 0) {
		vm->stats.machines_failed++;
		class_bad_machine(c, err.text, false);
		return false;
	}
	vm->stats.machines_made++;
	c->started++;
	c->is_hasty = true;
	vm->quiet_ns = now_ns() + QUIET_MS * NS_PER_MS;
	list_add_tail(&vm->machines, &m->node);
	return true;
}
