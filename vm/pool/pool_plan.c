/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the rows of plan.h from the pool's state: demand, machines, zygotes,
 * what they cost. Ends machines or zygotes when a slot or memory is needed.
 * Owns vm->plan, which pool_plan() rewrites before each use. All functions run
 * on the loop.
 */
#include "pool_class.h"

#include <stdio.h>
#include <string.h>

#include "layout/base/log.h"

/* Bytes that a machine takes, until one was measured. These were measured on the base,
 * emulated. */
#define GUESS_RESTORED (100ull << 20)
#define GUESS_FORKED (30ull << 20)
#define GUESS_ZYGOTE (200ull << 20)
#define FORGOTTEN 0.02 /* a class with less demand is not planned for */

struct backend_prepared class_prepared(const struct pool_class *c)
{
	struct backend *b = c->vm->backend;

	return b->ops->prepared ? b->ops->prepared(b, &c->cls)
				: (struct backend_prepared){0};
}

bool pool_is_preparing(const struct machines *vm)
{
	list_for_each (pos, tmp, &vm->classes)
		if (class_prepared(list_entry(pos, struct pool_class, node))
			    .making)
			return true;
	return false;
}

/* --- costs -------------------------------------------------------------- */

static uint64_t machine_bytes(const struct pool_class *c, bool forked)
{
	static const uint64_t guess[] = {GUESS_RESTORED, GUESS_FORKED};

	return c->cost[forked].bytes ? c->cost[forked].bytes : guess[forked];
}

void class_ask_cost(struct pool_class *c, struct machine *m)
{
	if (c->cost[m->forked].asked)
		return;
	c->cost[m->forked].asked = true;
	machine_ask_cost(m);
}

void class_costs(struct pool_class *c, const struct machine *m, uint64_t bytes)
{
	struct machines *vm = c->vm;

	c->cost[m->forked].bytes = bytes;
	if (bytes || vm->told_costs)
		return;
	vm->told_costs = true;
	log_info("this host does not tell what a machine's process takes "
		 "(/proc/PID/smaps_rollup): --idle-memory goes by an estimate");
}

void vm_memory(struct machines *vm, struct vm_memory *ret)
{
	host_memory_get(&vm->memory, ret);
	if (vm->backend->ops->memory)
		vm->backend->ops->memory(vm->backend, ret);
}

static uint64_t budget(struct machines *vm)
{
	struct vm_memory memory;

	if (vm->options.idle_memory)
		return vm->options.idle_memory;
	vm_memory(vm, &memory);
	return memory.total / VM_IDLE_SHARE;
}

/* --- rows --------------------------------------------------------------- */

static void count_machines(struct pool_class *c, struct plan_row *r)
{
	list_for_each (pos, tmp, &c->vm->machines) {
		const struct machine *m = list_entry(pos, struct machine, node);

		if (m->owner != c || m->state > MACHINE_WARM)
			continue;
		r->idle++;
		r->stopped += m->state == MACHINE_WARM;
		r->idle_bytes += machine_bytes(c, m->forked);
	}
}

/*
 * Returns whether no idle machine of the class may start now. Reasons: its machines
 * fail to start, its idle machines die, or a job has just begun (young) and another
 * warm machine is ready for the next job.
 */
static bool is_held(const struct pool_class *c, uint64_t now, bool young)
{
	return now < c->retry_ns || now < c->refill_ns ||
	       (young && class_count(c, MACHINE_WARM));
}

static void add(struct machines *vm, struct pool_class *c, bool young)
{
	struct backend_prepared zygote = class_prepared(c);
	struct plan *p = &vm->plan;
	unsigned at = p->count;
	struct plan_row *r = &p->row[at];

	*r = (struct plan_row){
		.demand = demand_total(&c->demand),
		.waits = c->waiting_count,
		.ready = c->state == CLASS_READY,
		.held = is_held(c, now_ns(), young),
		.machine_bytes = machine_bytes(c, zygote.ready),
		.lead = at,
		.forks = zygote.possible,
		.zygotes = (unsigned)zygote.ready + zygote.making,
		.zygote_bytes = zygote.bytes ? zygote.bytes : GUESS_ZYGOTE,
		.used_ns = c->used_ns,
	};
	count_machines(c, r);
	if (r->demand < FORGOTTEN && !r->waits && !r->idle && !r->zygotes)
		return;
	for (unsigned i = 0; i < at; i++)
		if (p->row[i].lead == i &&
		    vm_class_shares(&vm->planned[i]->cls, &c->cls)) {
			r->lead = i;
			p->row[i].used_ns = MAX(p->row[i].used_ns, c->used_ns);
		}
	vm->planned[p->count++] = c;
}

void pool_plan(struct machines *vm)
{
	struct plan *p = &vm->plan;
	bool young = pool_young_until(vm);

	p->count = 0;
	p->pool = MIN(vm->options.pool, vm->options.max_machines);
	p->budget = budget(vm);
	list_for_each (pos, tmp, &vm->classes)
		if (p->count < PLAN_ROWS)
			add(vm, list_entry(pos, struct pool_class, node),
			    young);
	plan_make(p);
}

unsigned pool_row(const struct machines *vm, const struct pool_class *c)
{
	for (unsigned i = 0; i < vm->plan.count; i++)
		if (vm->planned[i] == c)
			return i;
	return PLAN_NOBODY;
}

/* --- making room -------------------------------------------------------- */

bool pool_make_room(struct machines *vm, const struct pool_class *c)
{
	struct plan_step end;

	if (pool_total(vm) < vm->options.max_machines)
		return true;
	if (pool_count(vm, MACHINE_ENDED))
		return false; /* a machine's slot is free only when its process is
			       * reaped */
	pool_plan(vm);
	end = plan_least(&vm->plan, pool_row(vm, c));
	if (end.act == PLAN_END_MACHINE) /* a zygote has no slot */
		pool_end_idle(vm->planned[end.row]);
	return false;
}

bool pool_give_way(struct machines *vm)
{
	struct backend *b = vm->backend;
	struct plan_step end;

	if (pool_count(vm, MACHINE_ENDED))
		return true; /* a machine's memory is free only when its process is
			      * reaped */
	pool_plan(vm);
	end = plan_least(&vm->plan, PLAN_NOBODY);
	if (end.act == PLAN_END_MACHINE) {
		pool_end_idle(vm->planned[end.row]);
		return true;
	}
	return end.act == PLAN_END_ZYGOTE && b->ops->unprepare &&
	       b->ops->unprepare(b, &vm->planned[end.row]->cls);
}

/* Prints an environment's name. The id is added if the environment has no name, or
 * if an earlier row has another set of the same name: machines of both exist when a
 * name was built again. */
static void name_environment(const struct machines *vm, unsigned row, char *ret,
			     size_t size)
{
	const struct environment *e = vm->planned[row]->cls.environment, *other;
	bool clash = e && !e->name[0];

	for (unsigned i = 0; e && i < row; i++) {
		other = vm->planned[i]->cls.environment;
		clash |= other && !strcmp(other->name, e->name) &&
			 strcmp(other->id, e->id) != 0;
	}
	snprintf(ret, size, clash ? "%s@%.12s" : "%s%.0s",
		 e ? e->name : ENVIRONMENT_BASE, e ? e->id : "");
}

void vm_each_class(struct machines *vm,
		   void (*each)(void *arg, const struct vm_class_stats *s),
		   void *arg)
{
	pool_plan(vm);
	for (unsigned i = 0; i < vm->plan.count; i++) {
		const struct plan_row *r = &vm->plan.row[i];
		const struct pool_class *c = vm->planned[i];
		struct vm_class_stats s = {
			.memory_mib = c->cls.memory_mib,
			.cpus = c->cls.cpus,
			.idle = r->stopped,
			.wanted = r->want,
			.machine_bytes = r->machine_bytes,
			.zygote = r->lead == i && class_prepared(c).ready,
		};

		name_environment(vm, i, s.environment, sizeof(s.environment));
		each(arg, &s);
	}
}
