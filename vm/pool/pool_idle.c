/* SPDX-License-Identifier: Apache-2.0 */
/* What the pool has beyond what is needed now, and how it is made better. */
#include "pool_class.h"

#include <string.h>

#define HAVE_USUAL (1u << WIRE_RUN_PYTHON) /* guest/heat.c */

unsigned class_count(struct pool_class *c, enum machine_state state)
{
	unsigned n = 0;

	list_for_each(pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		n += m->owner == c && m->state == state;
	}
	return n;
}

struct backend_prepared pool_prepared(const struct vm *vm)
{
	struct backend *b = vm->backend;

	return b->ops->prepared ? b->ops->prepared(b) :
				  (struct backend_prepared){ 0 };
}

void class_prepare(struct pool_class *c, uint32_t runners, bool thorough)
{
	struct backend *b = c->vm->backend;

	c->prepare_ns = b->ops->prepare ? b->ops->prepare(b, &c->cls, runners,
							  thorough) : 0;
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

/* Each is heated for one demand only: to serve all it would take too long. */
static bool is_cold(const struct machine *m, uint32_t runners)
{
	return m->state == MACHINE_WARM && m->heat == m->hot &&
	       runners & ~m->hot;
}

struct machine *class_cold_one(struct pool_class *c, uint32_t runners)
{
	list_for_each(pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->owner == c && is_cold(m, runners))
			return m;
	}
	return NULL;
}

static bool is_lukewarm(const struct machine *m)
{
	return m->state == MACHINE_WARM && m->heats == 1 &&
	       m->heat & HAVE_USUAL;
}

static bool is_dated(const struct machine *m)
{
	const struct vm_backend *ops = m->bm ? m->bm->backend->ops : NULL;

	return m->state == MACHINE_WARM && ops && ops->is_dated &&
	       ops->is_dated(m->bm);
}

unsigned pool_lukewarm(const struct vm *vm)
{
	unsigned n = 0;

	list_for_each(pos, tmp, &vm->machines) {
		const struct machine *m =
			list_entry(pos, struct machine, node);

		n += is_lukewarm(m) || is_dated(m);
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

/* A second round is what most programs do, and takes as long as ten jobs; so
 * it is for a quiet time, and never for the last machine. */
static struct machine *lukewarm_one(struct pool_class *c)
{
	if (class_count(c, MACHINE_WARM) < 2 || now_ns() < c->vm->quiet_ns)
		return NULL;
	list_for_each(pos, tmp, &c->vm->machines) {
		struct machine *m = list_entry(pos, struct machine, node);

		if (m->owner == c && is_lukewarm(m) && !m->suspect)
			return m;
	}
	return NULL;
}

/* What is for a quiet time: one thing of it. */
void class_improve(struct pool_class *c)
{
	struct machine *m = lukewarm_one(c);

	if (m) {
		machine_heat(m, m->heat, HEAT_ROUNDS);
		return;
	}
	if (now_ns() < c->vm->quiet_ns)
		return;
	m = dated_one(c);
	if (m)
		machine_end(m); /* refill() makes another */
	else
		class_prepare(c, c->tmpl.runners, true);
}
