/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines and zygotes that no lease needs yet: pool_refill() takes steps
 * towards the plan (pool_plan.c), heats machines, and improves idle ones in a
 * quiet time. All functions run on the loop, called by work().
 */
#include "pool_class.h"

#define MANY 4 /* machines started, from which on a zygote is made at once */
/* the runner for which guest/warm/heat.c has more to do in a second round */
#define HAVE_USUAL (1u << WIRE_RUN_PYTHON)

/* Returns whether the machine is WARM, has had no heat since its start, and one of
 * `runners` was not warm from the start. A machine's first heat is only for the runners
 * that demand_next() chose: heat for all of them would take too long. */
static bool is_cold(const struct machine *m, uint32_t runners)
{
	return m->state == MACHINE_WARM && m->heat == m->hot &&
	       runners & ~m->hot;
}

static struct machine *cold_one(struct pool_class *c, uint32_t runners)
{
	list_for_each(pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->owner == c && is_cold(m, runners))
			return m;
	}
	return NULL;
}

/*
 * Returns whether the machine was heated once and would gain from a second round. A
 * machine forked off a hot zygote would not: it shares the heated memory, and more heat
 * would copy each page that an interpreter touches.
 */
static bool is_unheated(const struct machine *m)
{
	const struct pool_class *c = m->owner;

	return m->state == MACHINE_WARM && m->heats == 1 &&
	       m->heat & ~m->hot & HAVE_USUAL && !c->vm->options.quick_heat;
}

static bool is_dated(const struct machine *m)
{
	const struct vm_backend *ops = m->bm ? m->bm->backend->ops : NULL;

	return m->state == MACHINE_WARM && ops && ops->is_dated &&
	       ops->is_dated(m->bm);
}

unsigned pool_unheated(const struct machines *vm)
{
	unsigned n = 0;

	list_for_each(pos, tmp, &vm->machines) {
		const struct machine *m =
			list_entry(pos, struct machine, node);

		n += is_unheated(m) || is_dated(m);
	}
	return n;
}

static struct machine *dated_one(struct pool_class *c)
{
	list_for_each(pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->owner == c && is_dated(m))
			return m;
	}
	return NULL;
}

/*
 * Returns a machine to heat again. The second round does what most programs do
 * and takes as long as ten jobs. So it runs only in a quiet time, and never on
 * the last warm machine.
 */
static struct machine *unheated_one(struct pool_class *c)
{
	if (class_count(c, MACHINE_WARM) < 2 || now_ns() < c->vm->quiet_ns)
		return NULL;
	list_for_each(pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->owner == c && is_unheated(m) && !m->suspect)
			return m;
	}
	return NULL;
}

/* --- zygotes ------------------------------------------------------------ */

/* Returns the runners that waiting leases or recent ones need, as a mask. */
static uint32_t needed_runners(const struct pool_class *c)
{
	uint32_t mask = 0;

	list_for_each (pos, tmp, &c->waiting)
		mask |= 1u
			<< list_entry(pos, struct vm_lease, node)->need.runner;
	mask &= c->tmpl.runners;
	return mask ? mask : demand_common(&c->demand, c->tmpl.runners);
}

static void prepare(struct pool_class *c, uint32_t runners, bool thorough)
{
	struct backend *b = c->vm->backend;

	c->prepare_ns = b->ops->prepare
				? b->ops->prepare(b, &c->cls, runners, thorough)
				: 0;
}

/* Returns whether the row's zygote is worth the seconds that making it takes. */
static bool pays(const struct machines *vm, unsigned row)
{
	const struct pool_class *c = vm->planned[row];

	return vm->plan.row[row].keep &&
	       (vm->plan.row[row].want || c->started >= MANY ||
		c == vm->usual);
}

bool pool_wants_zygote(const struct machines *vm, unsigned row)
{
	const struct pool_class *c = vm->planned[row];
	struct backend_prepared has = class_prepared(c);

	return vm->plan.row[row].lead == row && has.possible && !has.thorough &&
	       pays(vm, row);
}

/*
 * Makes zygotes for classes that start many machines, although jobs run. They are hot
 * only for the runners that are needed now: one for all runners takes longer, and
 * prepare_thoroughly() makes it in a quiet time.
 */
static void prepare_hastily(struct machines *vm)
{
	for (unsigned i = 0; i < vm->plan.count; i++) {
		struct pool_class *c = vm->planned[i];
		uint32_t runners = vm->options.quick_heat
					   ? c->tmpl.runners : needed_runners(c);

		if (c->is_hasty && c->started >= MANY &&
		    plan_may_fork(&vm->plan, i))
			prepare(c, runners, false);
		c->is_hasty = false;
	}
}

/* Makes one zygote in a quiet time. Return: whether one is being made. */
static bool prepare_thoroughly(struct machines *vm)
{
	for (unsigned i = 0; i < vm->plan.count; i++) {
		struct pool_class *c = vm->planned[i];

		if (vm->plan.row[i].lead != i || !pays(vm, i) ||
		    !plan_may_fork(&vm->plan, i))
			continue;
		prepare(c, c->tmpl.runners, true);
		if (class_prepared(c).making)
			return true;
	}
	return false;
}

/* --- towards the plan --------------------------------------------------- */

/* Asks the owner, by may_warm(), whether there is memory for machines without a lease. */
static bool may_warm(const struct machines *vm)
{
	return !vm->watch.may_warm || vm->watch.may_warm(vm->watch.arg);
}

static bool any_waits(const struct machines *vm)
{
	list_for_each (pos, tmp, &vm->classes) {
		const struct pool_class *c =
			list_entry(pos, struct pool_class, node);

		if (c->waiting_count && c->state == CLASS_READY)
			return true;
	}
	return false;
}

/* Returns the runners that the next machine of the class is heated for, as a
 * mask. */
static uint32_t next_heat(struct pool_class *c, unsigned slots)
{
	unsigned have[WIRE_RUN_MAX];

	class_hot(c, have);
	return demand_next(&c->demand, c->tmpl.runners, have, slots);
}

static bool start_one(struct machines *vm, unsigned row, unsigned slots, bool idle)
{
	struct pool_class *c = vm->planned[row];

	if (pool_preparing(vm) >= slots ||
	    pool_total(vm) >= vm->options.max_machines)
		return false;
	return pool_start(c, idle ? next_heat(c, vm->plan.row[row].want) : 0);
}

/* Takes one step. Return: whether one more may follow now. */
static bool take_step(struct machines *vm, unsigned slots, bool idle)
{
	struct backend *b = vm->backend;
	struct plan_step step;

	pool_plan(vm);
	step = plan_next(&vm->plan);
	switch (step.act) {
	case PLAN_START:
		return start_one(vm, step.row, slots, idle);
	case PLAN_END_MACHINE:
		pool_end_idle(vm->planned[step.row]);
		return false; /* a machine's memory is free only when its process is
			       * reaped */
	case PLAN_END_ZYGOTE:
		if (b->ops->unprepare)
			b->ops->unprepare(b, &vm->planned[step.row]->cls);
		return false;
	default:
		return false;
	}
}

static bool heat_one(struct machines *vm)
{
	for (unsigned i = 0; i < vm->plan.count; i++) {
		struct pool_class *c = vm->planned[i];
		uint32_t heat = next_heat(c, vm->plan.row[i].want);
		struct machine *m = heat && !vm->plan.row[i].held
					    ? cold_one(c, heat)
					    : NULL;

		if (!m)
			continue;
		machine_heat(m, heat, HEAT_ROUNDS);
		return true;
	}
	return false;
}

/* Improves one idle machine or zygote, in a quiet time. */
static void improve(struct machines *vm)
{
	if (now_ns() < vm->quiet_ns)
		return;
	for (unsigned i = 0; i < vm->plan.count; i++) {
		struct machine *m = unheated_one(vm->planned[i]);

		if (!m)
			continue;
		machine_heat(m, m->heat, HEAT_ROUNDS);
		return;
	}
	for (unsigned i = 0; i < vm->plan.count; i++) {
		struct machine *m = dated_one(vm->planned[i]);

		if (!m)
			continue;
		machine_end(m); /* pool_refill() starts another one */
		return;
	}
	prepare_thoroughly(vm);
}

/*
 * Takes steps towards the plan, but leaves the processors to the jobs. Heat
 * costs as much as a job: while all processors are busy, machines are only
 * restored, one at a time, and heated later. Starting a machine takes longer
 * than a short job and would slow that job down by half. So after a job has begun
 * its class starts no machine for a short time, if another warm one is ready
 * (is_held() of pool_plan.c).
 */
void pool_refill(struct machines *vm)
{
	unsigned busy = pool_count(vm, MACHINE_RUNNING);
	bool idle = busy < vm->processors && !any_waits(vm);
	unsigned slots = idle ? vm->processors - busy : 1;

	if (!may_warm(vm))
		return;
	if (pool_is_preparing(vm) && slots)
		slots--;
	while (take_step(vm, slots, idle))
		;
	prepare_hastily(vm);
	while (idle && pool_preparing(vm) < slots && heat_one(vm))
		;
	if (!busy && !pool_preparing(vm) && !pool_is_preparing(vm))
		improve(vm);
}

void pool_count_idle(struct machines *vm, struct vm_stats *ret)
{
	const struct plan *p = &vm->plan;

	pool_plan(vm);
	ret->zygotes = ret->zygotes_wanted = 0;
	for (unsigned i = 0; i < p->count; i++) {
		struct backend_prepared zygote = class_prepared(vm->planned[i]);

		if (p->row[i].lead != i)
			continue;
		ret->zygotes += zygote.ready;
		ret->zygotes_wanted += pool_wants_zygote(vm, i);
	}
	ret->idle_bytes = plan_used(p);
	ret->idle_limit = p->budget;
}
