/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts leases by runner, with averages that decay by each further lease. Pure
 * arithmetic, without a clock.
 */
#include "demand.h"


#define DECAY 0.95      /* factor of all counts at each lease */
#define RARE_SHARE 0.08 /* a runner with a smaller share is not heated for */

/* Weights before the first lease: scripts of every kind, Python a little more. */
static const double at_start[WIRE_RUN_MAX] = {
	[WIRE_RUN_PYTHON] = 1.2,
	[WIRE_RUN_NODE] = 1.0,
	[WIRE_RUN_TYPESCRIPT] = 0.1,
	[WIRE_RUN_BASH] = 1.0,
	[WIRE_RUN_EXEC] = 0.1,
};

void demand_init(struct demand *d)
{
	for (unsigned r = 0; r < WIRE_RUN_MAX; r++)
		d->weight[r] = at_start[r];
}

void demand_fade(struct demand *d)
{
	for (unsigned r = 0; r < WIRE_RUN_MAX; r++)
		d->weight[r] *= DECAY;
}

void demand_note(struct demand *d, uint32_t runner)
{
	if (runner < WIRE_RUN_MAX)
		d->weight[runner] += 1;
}

double demand_total(const struct demand *d)
{
	double sum = 0;

	for (unsigned r = 0; r < WIRE_RUN_MAX; r++)
		sum += d->weight[r];
	return sum;
}

uint32_t demand_common(const struct demand *d, uint32_t possible)
{
	double sum = 0;
	uint32_t mask = 0;

	for (unsigned r = 0; r < WIRE_RUN_MAX; r++)
		sum += possible & 1u << r ? d->weight[r] : 0;
	for (unsigned r = 0; r < WIRE_RUN_MAX; r++)
		if (possible & 1u << r && d->weight[r] > sum * RARE_SHARE)
			mask |= 1u << r;
	return mask;
}

uint32_t demand_next(const struct demand *d, uint32_t possible,
		     const unsigned have[WIRE_RUN_MAX], unsigned slots)
{
	uint32_t mask = demand_common(d, possible), best = 0;
	double best_score = 0;

	/* With fewer slots than common runners, heat each machine for all of these. */
	if ((unsigned)__builtin_popcount(mask) > slots)
		return mask;
	/* Take the runner with the most demand per hot machine. So the numbers of hot
	 * machines come to have the same proportions as the weights. */
	for (unsigned r = 0; r < WIRE_RUN_MAX; r++) {
		double score = d->weight[r] / (have[r] + 0.5);

		if (mask & 1u << r && score > best_score) {
			best_score = score;
			best = 1u << r;
		}
	}
	return best;
}
