/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which runners are asked for, as decaying counts, and which one the next warm
 * machine should be heated for. Pure arithmetic.
 */
#ifndef VM_DEMAND_H
#define VM_DEMAND_H

#include "guest/wire.h"

struct demand {
	double weight[WIRE_RUN_MAX];
};

void demand_init(struct demand *d);
void demand_note(struct demand *d, uint32_t runner);

/* Those of `possible`, as a mask, that are asked for often enough. */
uint32_t demand_common(const struct demand *d, uint32_t possible);

/*
 * The runners, as a mask, to heat the next machine for: out of `possible`,
 * with `have[r]` machines hot for r already, in a pool of `pool` machines.
 * 0 when nothing can be heated.
 */
uint32_t demand_next(const struct demand *d, uint32_t possible,
		     const unsigned have[WIRE_RUN_MAX], unsigned pool);

#endif
