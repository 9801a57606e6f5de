/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is at a job. Who changes it holds its lane, perhaps while the
 * disk takes its time; others that come for the same job wait, in order, so
 * that nobody sees half of a change. Other jobs are not concerned.
 *
 * A fiber that comes again holds it already. Outside of fibers (at the start,
 * at the end) nothing waits and nobody is in between: all of this does nothing.
 *
 * Who holds one lane and enters another one is a rename from job to job, which
 * the kernel allows one at a time: no circle of waiting can come to be.
 */
#ifndef FSD_LANE_H
#define FSD_LANE_H

#include <stdbool.h>

#include "fiber.h"

/* Embedded; zero it, lane_init(). */
struct lane {
	struct fiber *owner; /* borrowed; NULL: free */
	struct list held;    /* in its owner's */
	struct list waiting; /* of struct lane_place */
};

void lane_init(struct lane *l);
/* Return: true if it is held from now on; false if it was already, or there is
 * no fiber. */
bool lane_enter(struct lane *l);
void lane_leave(struct lane *l);
/* Waits until nobody else holds it. Return: true if there was a wait. */
bool lane_wait(struct lane *l);
bool lane_is_free(const struct lane *l); /* or one's own */

#endif
