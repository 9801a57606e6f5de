/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how often each runner of one class of machines is asked for; the
 * counts decay. Chooses the runners that the next warm machine is heated for.
 * plan.h divides the pool among the classes by the same counts. Pure
 * arithmetic.
 */
#ifndef VM_DEMAND_H
#define VM_DEMAND_H

#include "guest/wire/wire.h"

struct demand {
	double weight[WIRE_RUN_MAX];
};

/* Sets the counts of a pool that no lease has used: scripts of every kind. A
 * zeroed struct has no demand. */
void demand_init(struct demand *d);
/* Call both at each lease: demand_fade() for every class, then demand_note()
 * for the class of the lease. */
void demand_fade(struct demand *d);
void demand_note(struct demand *d, uint32_t runner);
double demand_total(const struct demand *d);

/* Returns the runners of the mask `possible` that are asked for often enough. */
uint32_t demand_common(const struct demand *d, uint32_t possible);

/*
 * Returns the runners, as a mask out of `possible`, to heat the next machine
 * for. have[r]: machines of the class that are hot for r. slots: machines that
 * the class may have idle. Return: 0 if the template has none of the runners that
 * are asked for often.
 */
uint32_t demand_next(const struct demand *d, uint32_t possible,
		     const unsigned have[WIRE_RUN_MAX], unsigned slots);

#endif
