/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock for fibers: one per job. A fiber that changes the job holds its lock,
 * also while it waits for the disk. Other fibers that need the job wait in the
 * order of their arrival, so none sees half of a change.
 *
 * A fiber that enters again holds the lock already. Outside of fibers (at the
 * server's start and end) no code waits and none can come between, so all of
 * this does nothing.
 *
 * A fiber holds two locks only for a rename from job to job. The kernel sends
 * one such rename at a time, so a deadlock is not possible.
 */
#ifndef FSD_FIBER_LOCK_H
#define FSD_FIBER_LOCK_H

#include <stdbool.h>

#include "fiber.h"

/* Embedded; zero it, fiber_lock_init(). */
struct fiber_lock {
	struct fiber *owner; /* borrowed; NULL: the lock is free */
	struct list held; /* node in the owner's list fiber_held() */
	struct list waiting; /* fibers that wait (struct lane_place) */
};

void fiber_lock_init(struct fiber_lock *l);
/* Takes the lock; waits for it. Return: true if this call has taken it; false
 * if the fiber had it already, or there is no fiber. */
bool fiber_lock_enter(struct fiber_lock *l);
void fiber_lock_leave(struct fiber_lock *l);
/* Waits until no other fiber holds it; does not take it. Return: true if it had
 * to wait. */
bool fiber_lock_wait(struct fiber_lock *l);
/* Returns whether the lock is free or the caller's. */
bool fiber_lock_is_free(const struct fiber_lock *l);

#endif
