/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool's work: pool_kick() schedules work() whenever something has
 * happened. It visits all classes, grants leases, starts machines and refills
 * the pool. Owns the queues of leases. All functions run on the loop, never
 * inside a call of vm.h.
 */
#include "pool_class.h"
#include "pool_shared.h"

#include <string.h>

/* --- what is due -------------------------------------------------------- */

/* Returns a warm machine for a lease: an awake one that is hot for its runner
 * if there is one, else a hot one, else any. */
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

/* Returns a warm machine of the environment, from the class with the most
 * demand. */
static struct machine *warm_in(struct machines *vm, uint32_t runner, const char *id)
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

void pool_expect(struct machines *vm, uint32_t runner, const char *environment_id)
{
	struct machine *m = warm_in(vm, runner, environment_id[0] ?
							environment_id :
							id_of(vm->usual));

	/* Wake one machine at a time: a user who writes many files must not wake more. */
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

/* Returns whether a machine may start: one at a time always, further ones only while
 * processors are free. */
static bool may_start(const struct machines *vm)
{
	unsigned n = pool_preparing(vm);

	return n == 0 || n + pool_is_preparing(vm) < vm->processors;
}

/* Returns the heat for the waiting lease at index `before`. */
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
	struct machines *vm = c->vm;
	unsigned coming;

	if (c->state != CLASS_READY || now_ns() < c->retry_ns)
		return;
	coming = class_count(c, MACHINE_STARTING) +
		 class_count(c, MACHINE_HEATING);
	while (coming < c->waiting_count && may_start(vm) &&
	       pool_make_room(vm, c) && pool_start(c, heat_for_next(c, coming)))
		coming++;
}

/* Sets the timer for the next moment at which work() has something to do. */
static void arm_retry(struct machines *vm)
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

/* Returns true, once, if the class has its template made before a lease asks for it
 * (`begins`) and the base's template, which comes first, is ready. */
static bool may_begin(struct pool_class *c)
{
	bool begins = c->begins && base_class(c->vm)->state == CLASS_READY;

	c->begins &= !begins;
	return begins;
}

static void work(struct loop_call *call)
{
	struct machines *vm = call->arg;

	if (vm->broken)
		return;
	list_for_each(pos, tmp, &vm->classes) {
		struct pool_class *c = list_entry(pos, struct pool_class, node);

		if (c == base_class(vm) || c->waiting_count || may_begin(c))
			class_want_template(c);
		grant_warm(c);
		start_for_waiting(c);
		class_check(c);
	}
	pool_refill(vm);
	arm_retry(vm);
}

static void on_retry(struct loop_timer *t)
{
	pool_kick(t->arg);
}

/* --- leases ------------------------------------------------------------ */

void pool_strand(struct machines *vm)
{
	list_for_each(pos, tmp, &vm->classes) {
		struct pool_class *c = list_entry(pos, struct pool_class, node);

		list_for_each(at, tmp2, &c->waiting)
			lease_strand(list_entry(at, struct vm_lease, node));
	}
}

int pool_lease(struct machines *vm, struct vm_lease *l)
{
	struct vm_class cls = class_of(&l->need);

	l->cls = class_get(vm, &cls);
	if (!l->cls)
		return -ENOMEM;
	/* the reference is the class's own, so the lease keeps none */
	l->need.environment = l->cls->cls.environment;
	list_add_tail(&l->cls->waiting, &l->node);
	l->cls->waiting_count++;
	list_for_each (pos, tmp, &vm->classes)
		demand_fade(&list_entry(pos, struct pool_class, node)->demand);
	demand_note(&l->cls->demand, l->need.runner);
	l->cls->used_ns = now_ns();
	pool_saved_note(vm);
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

/* Makes the environment of jobs that name none the usual class: its template is made and
 * machines of it are idle before any job has come. */
static void begin_with_default(struct machines *vm)
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

void pool_init(struct machines *vm)
{
	struct vm_class base = { .memory_mib = MACHINE_MIB, .cpus = 1 };

	list_init(&vm->machines);
	list_init(&vm->classes);
	vm->work = (struct loop_call){.fn = work, .arg = vm};
	vm->retry = (struct loop_timer){.fn = on_retry, .arg = vm};
	vm->usual = class_get(vm, &base);
	demand_init(&vm->usual->demand);
}

void pool_begin(struct machines *vm)
{
	begin_with_default(vm);
	pool_saved_open(vm);
	pool_kick(vm);
}

void pool_done(struct machines *vm)
{
	pool_saved_close(vm);
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
