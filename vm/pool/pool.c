/* SPDX-License-Identifier: Apache-2.0 */
#include "pool_class.h"
#include "pool_shared.h"

#include <stdio.h>
#include <string.h>

#include "layout/base/log.h"

#define AGAIN_MS 5000 /* in that time, or it has waited enough */
#define YOUNG_MS 150  /* most jobs have ended by then */
#define QUIET_MS 2000 /* no lease and no start: time for more heat */

/* --- machines ---------------------------------------------------------- */

unsigned pool_count(const struct vm *vm, enum machine_state state)
{
	unsigned n = 0;

	list_for_each(pos, tmp, &vm->machines)
		n += list_entry(pos, struct machine, node)->state == state;
	return n;
}

unsigned pool_total(const struct vm *vm)
{
	unsigned n = 0;

	list_for_each(pos, tmp, &vm->machines)
		n++;
	return n;
}

void pool_run(struct vm_lease *l)
{
	struct vm_tape *t = l->job->tape;

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
	if (l->shared) /* another machine has had it, and never said so */
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

/* Is it being heated for whoever waits, and for nothing else? */
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
	if (m->state == MACHINE_HEATING && m->heated) /* it has answered */
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
 * The machine has not said a word since it was given its job: it was dead or
 * frozen before, and the job never ran there, or nobody will ever know that it
 * did. So another machine may have it, and its owner need not hear of this. In
 * one that never had all of it nothing has run, however long that took.
 */
static bool may_have_another(const struct vm_lease *l, const struct machine *m,
			     enum vm_failure why)
{
	if (!l || m->heard || l->runs > 1 || (l->shared && l->vm->broken))
		return false; /* what is shared ends with this process */
	return l->vm->broken || /* then it is no fault of the job's */
	       (l->again < AGAIN_MAX &&
		(!l->first_run_ns || why == VM_FAILED_START ||
		 now_ns() - l->first_run_ns < AGAIN_MS * NS_PER_MS));
}

void lease_strand(struct vm_lease *l)
{
	l->stranded = true;
	pool_defer(l);
}

static void have_another(struct vm_lease *l, struct machine *m,
			 const char *sentence)
{
	struct pool_class *c = l->cls;

	log_warn("a machine did not take its job (%s); another one has it",
		 sentence);
	m->lease = NULL;
	if (l->job && l->job->tape)
		tape_unsign(l->job->tape);
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
	/* What froze it may have frozen others. */
	list_for_each(pos, tmp, &c->vm->machines)
		machine_probe(list_entry(pos, struct machine, node));
}

void pool_strand(struct vm *vm)
{
	list_for_each(pos, tmp, &vm->classes) {
		struct pool_class *c = list_entry(pos, struct pool_class, node);

		list_for_each(at, tmp2, &c->waiting)
			lease_strand(list_entry(at, struct vm_lease, node));
	}
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
	struct vm *vm = arg;
	struct vm_lease *l = m->lease;

	vm->stats.machines_failed++;
	if (vm->broken) /* they died with who keeps them */
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

static void on_gone(void *arg, struct machine *m)
{
	struct vm *vm = arg;

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
	.gone = on_gone,
};

bool pool_start(struct pool_class *c, uint32_t heat)
{
	struct vm *vm = c->vm;
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

/* --- what is due ------------------------------------------------------- */

/* A warm machine for the lease: one that is hot for its runner, awake at best,
 * else any. */
static struct machine *warm_for(struct pool_class *c, uint32_t runner)
{
	struct machine *any = NULL, *hot = NULL;

	list_for_each(pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->owner != c || m->state != MACHINE_WARM || m->suspect)
			continue;
		any = m;
		if (m->heated & 1u << runner && (!hot || hot->paused))
			hot = m;
	}
	return hot ? hot : any;
}

static const char *id_of(const struct pool_class *c)
{
	return c->cls.environment ? c->cls.environment->id : ENVIRONMENT_BASE;
}

static bool has_environment(const struct pool_class *c, const char *id)
{
	return !strcmp(id_of(c), id);
}

/* A warm machine of the environment, in the class that is asked for most. */
static struct machine *warm_in(struct vm *vm, uint32_t runner, const char *id)
{
	struct machine *best = NULL;
	double most = -1;

	list_for_each(pos, tmp, &vm->classes) {
		struct pool_class *c = list_entry(pos, struct pool_class, node);
		double demand = demand_total(&c->demand);
		struct machine *m = demand > most && has_environment(c, id) ?
					    warm_for(c, runner) : NULL;

		if (!m)
			continue;
		best = m;
		most = demand;
	}
	return best;
}

void pool_expect(struct vm *vm, uint32_t runner, const char *environment_id)
{
	struct machine *m = warm_in(vm, runner, environment_id[0] ?
							environment_id :
							id_of(vm->usual));

	/* One at a time: whoever only makes files must not cost more. */
	list_for_each(pos, tmp, &vm->machines)
		if (list_entry(pos, struct machine, node)->sleep.loop)
			return;
	if (m && m->paused)
		machine_rouse(m);
}

static void grant_warm(struct pool_class *c)
{
	struct vm_lease *l;
	struct machine *m;

	while ((l = list_first(&c->waiting, struct vm_lease, node)) &&
	       (m = warm_for(c, l->need.runner)))
		pool_grant(m, m->heated ? VM_WARM : VM_RESTORED);
}

unsigned pool_preparing(const struct vm *vm)
{
	return pool_count(vm, MACHINE_STARTING) +
	       pool_count(vm, MACHINE_HEATING);
}

/* One at least, on however few processors. */
static bool may_start(const struct vm *vm)
{
	unsigned n = pool_preparing(vm);

	return n == 0 || n + pool_is_preparing(vm) < vm->processors;
}

/* For the lease that has so many before it. */
static uint32_t heat_for_next(const struct pool_class *c, unsigned before)
{
	list_for_each(pos, tmp, &c->waiting)
		if (!before--)
			return class_heat_for(c, list_entry(pos, struct vm_lease,
							    node));
	return 0;
}

static void start_for_waiting(struct pool_class *c)
{
	struct vm *vm = c->vm;
	unsigned coming;

	if (c->state != CLASS_READY || now_ns() < c->retry_ns)
		return;
	coming = class_count(c, MACHINE_STARTING) +
		 class_count(c, MACHINE_HEATING);
	while (coming < c->waiting_count && may_start(vm) &&
	       pool_make_room(vm, c) && pool_start(c, heat_for_next(c, coming)))
		coming++;
}

uint64_t pool_young_until(const struct vm *vm)
{
	uint64_t now = now_ns(), until = 0;

	list_for_each(pos, tmp, &vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->lease && m->state != MACHINE_ENDED)
			until = MAX(until, m->lease->info.granted_ns +
						   YOUNG_MS * NS_PER_MS);
	}
	return until > now ? until : 0;
}

/* When the earliest class may be tried again, or the pool be filled. */
static void arm_retry(struct vm *vm)
{
	uint64_t now = now_ns(), at = pool_young_until(vm);

	if (!at)
		at = UINT64_MAX;
	if (vm->quiet_ns > now)
		at = MIN(at, vm->quiet_ns);

	list_for_each(pos, tmp, &vm->classes) {
		struct pool_class *c = list_entry(pos, struct pool_class, node);

		at = MIN(at, class_due_ns(c, now));
	}
	if (at != UINT64_MAX)
		loop_timer_set(vm->loop, &vm->retry, at - now + NS_PER_MS);
}

/* Once, behind the template without which no job runs. */
static bool may_begin(struct pool_class *c)
{
	bool begins = c->begins && base_class(c->vm)->state == CLASS_READY;

	c->begins &= !begins;
	return begins;
}

static void work(struct loop_call *call)
{
	struct vm *vm = call->arg;

	if (vm->broken)
		return;
	list_for_each(pos, tmp, &vm->classes) {
		struct pool_class *c = list_entry(pos, struct pool_class, node);

		if (c == base_class(vm) || c->waiting_count || may_begin(c))
			class_want_template(c);
		grant_warm(c);
		start_for_waiting(c);
		class_look(c);
	}
	pool_refill(vm);
	arm_retry(vm);
}

static void on_retry(struct loop_timer *t)
{
	pool_kick(t->arg);
}

void pool_kick(struct vm *vm)
{
	loop_defer(vm->loop, &vm->work);
}

/* --- leases ------------------------------------------------------------ */

static void lease_call(struct loop_call *call)
{
	struct vm_lease *l = call->arg;

	if (l->failed)
		l->events->failed(l->arg, l->why, l->sentence);
	else if (!l->stranded)
		l->events->granted(l->arg);
	else if (l->events->stranded)
		l->events->stranded(l->arg);
}

void pool_defer(struct vm_lease *l)
{
	loop_defer(l->vm->loop, &l->call);
}

void lease_init(struct vm_lease *l)
{
	l->call = (struct loop_call){ .fn = lease_call, .arg = l };
	list_init(&l->joined);
}

void lease_fail(struct vm_lease *l, enum vm_failure why, const char *sentence)
{
	if (l->failed)
		return;
	if (!l->granted) {
		list_del(&l->node);
		l->cls->waiting_count--;
	}
	l->failed = true;
	l->why = why;
	snprintf(l->sentence, sizeof(l->sentence), "%s", sentence);
	pool_defer(l);
}

int pool_lease(struct vm *vm, struct vm_lease *l)
{
	struct vm_class cls = class_of(&l->need);

	l->cls = class_get(vm, &cls);
	if (!l->cls)
		return -ENOMEM;
	l->need.environment = l->cls->cls.environment; /* the class's own */
	list_add_tail(&l->cls->waiting, &l->node);
	l->cls->waiting_count++;
	list_for_each (pos, tmp, &vm->classes)
		demand_fade(&list_entry(pos, struct pool_class, node)->demand);
	demand_note(&l->cls->demand, l->need.runner);
	l->cls->used_ns = now_ns();
	pool_kept_note(vm);
	if (vm->broken)
		lease_strand(l);
	else if (class_is_hopeless(l->cls))
		lease_fail(l, VM_FAILED_START, l->cls->err.text);
	pool_kick(vm);
	return 0;
}

void pool_unlease(struct vm_lease *l)
{
	loop_call_del(&l->call);
	if (l->of) {
		pool_part(l);
		return;
	}
	if (!l->granted && !l->failed) {
		list_del(&l->node);
		l->cls->waiting_count--;
	}
	pool_orphan_lanes(l);
	if (l->machine)
		machine_end(l->machine);
	l->machine = NULL;
	pool_kick(l->vm);
}

/* Before any job came: those that ask for no environment are likely. */
static void begin_with_default(struct vm *vm)
{
	struct vm_class cls = vm->usual->cls;
	struct pool_class *c;

	if (!vm->watch.environment ||
	    vm->watch.environment(vm->watch.arg, NULL, &cls.environment) < 0)
		return;
	c = class_get(vm, &cls);
	environment_unref(cls.environment);
	if (!c || c == vm->usual)
		return;
	vm->usual->demand = (struct demand){ 0 };
	demand_init(&c->demand);
	c->begins = true;
	vm->usual = c;
}

void pool_init(struct vm *vm)
{
	struct vm_class base = { .memory_mib = MACHINE_MIB, .cpus = 1 };

	list_init(&vm->machines);
	list_init(&vm->classes);
	vm->work = (struct loop_call){.fn = work, .arg = vm};
	vm->retry = (struct loop_timer){.fn = on_retry, .arg = vm};
	vm->usual = class_get(vm, &base);
	demand_init(&vm->usual->demand);
}

void pool_begin(struct vm *vm)
{
	begin_with_default(vm);
	pool_kept_open(vm);
	pool_kick(vm);
}

void pool_done(struct vm *vm)
{
	pool_kept_close(vm);
	loop_call_del(&vm->work);
	loop_timer_del(&vm->retry);
	list_for_each(pos, tmp, &vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->lease) {
			pool_lose_lanes(m->lease);
			m->lease->machine = NULL;
		}
		list_del(&m->node);
		machine_forget(m);
	}
	list_for_each(pos, tmp, &vm->classes) {
		struct pool_class *c = list_entry(pos, struct pool_class, node);

		list_del(pos);
		environment_unref(c->cls.environment);
		free(c);
	}
}
