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
#ifndef FSD_FIBER_LOCK_H
#define FSD_FIBER_LOCK_H

#include <stdbool.h>

#include "fiber.h"

/* Embedded; zero it, fiber_lock_init(). */
struct fiber_lock {
	struct fiber *owner; /* borrowed; NULL: free */
	struct list held;    /* in its owner's */
	struct list waiting; /* of struct lane_place */
};

void fiber_lock_init(struct fiber_lock *l);
/* Return: true if it is held from now on; false if it was already, or there is
 * no fiber. */
bool fiber_lock_enter(struct fiber_lock *l);
void fiber_lock_leave(struct fiber_lock *l);
/* Waits until nobody else holds it. Return: true if there was a wait. */
bool fiber_lock_wait(struct fiber_lock *l);
bool fiber_lock_is_free(const struct fiber_lock *l); /* or one's own */

#endif
