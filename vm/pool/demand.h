/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often each runner of one class of machines is asked for, as decaying
 * counts, and which runners its next warm machine is heated for. Pure
 * arithmetic. plan.h divides the pool among the classes by the same counts.
 */
#ifndef VM_DEMAND_H
#define VM_DEMAND_H

#include "guest/wire/wire.h"

struct demand {
	double weight[WIRE_RUN_MAX];
};

/* Before the first lease: scripts of every kind. A zeroed one has no demand. */
void demand_init(struct demand *d);
/* At each lease: every class fades, the lease's class counts its runner. */
void demand_fade(struct demand *d);
void demand_note(struct demand *d, uint32_t runner);
double demand_total(const struct demand *d);

/* Those of `possible`, as a mask, that are asked for often enough. */
uint32_t demand_common(const struct demand *d, uint32_t possible);

/*
 * The runners, as a mask, to heat the next machine for: out of `possible`,
 * with `have[r]` machines hot for r already, in a class of `seats` machines.
 * 0 when nothing can be heated.
 */
uint32_t demand_next(const struct demand *d, uint32_t possible,
		     const unsigned have[WIRE_RUN_MAX], unsigned seats);

#endif
