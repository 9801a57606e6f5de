/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the machines by state and by class, and ends a class's idle machine
 * that was heated the fewest times. pool_kick() schedules work(). All functions
 * run on the loop.
 */
#include "pool_class.h"

#include <string.h>

#define YOUNG_MS 150 /* most jobs end within this time */

unsigned pool_count(const struct machines *vm, enum machine_state state)
{
	unsigned n = 0;

	list_for_each(pos, tmp, &vm->machines)
		n += list_entry(pos, struct machine, node)->state == state;
	return n;
}

unsigned pool_total(const struct machines *vm)
{
	unsigned n = 0;

	list_for_each(pos, tmp, &vm->machines)
		n++;
	return n;
}

unsigned class_count(const struct pool_class *c, enum machine_state state)
{
	unsigned n = 0;

	list_for_each(pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		n += m->owner == c && m->state == state;
	}
	return n;
}

unsigned class_hot(struct pool_class *c, unsigned have[WIRE_RUN_MAX])
{
	unsigned n = 0;

	memset(have, 0, sizeof(have[0]) * WIRE_RUN_MAX);
	list_for_each(pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->owner != c || m->state > MACHINE_WARM)
			continue;
		n++;
		for (unsigned r = 0; r < WIRE_RUN_MAX; r++)
			have[r] += !!(m->heat & 1u << r);
	}
	return n;
}

unsigned pool_preparing(const struct machines *vm)
{
	return pool_count(vm, MACHINE_STARTING) +
	       pool_count(vm, MACHINE_HEATING);
}

uint64_t pool_young_until(const struct machines *vm)
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

void pool_end_idle(struct pool_class *c)
{
	struct machine *coldest = NULL;

	list_for_each (pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->owner == c && m->state == MACHINE_WARM &&
		    (!coldest || m->heats < coldest->heats))
			coldest = m;
	}
	if (coldest)
		machine_end(coldest);
}

void pool_kick(struct machines *vm)
{
	loop_defer(vm->loop, &vm->work);
}
