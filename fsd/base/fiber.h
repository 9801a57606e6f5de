/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fibers: functions on the loop's thread, each with a stack of its own, that
 * may wait in the middle. While one waits (for the disk, or for a job that
 * another fiber has locked) the loop runs others, and resumes it later. So the
 * code of a request reads from top to bottom, and a slow disk delays no other
 * request. Only fiber_pause() and functions that call it give the thread away:
 * between two such calls no other code runs, so no lock is needed.
 *
 * All functions are called on the loop's thread.
 */
#ifndef FSD_FIBER_H
#define FSD_FIBER_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/os/loop.h"

struct fiber;

/* Enables fibers; call it when the loop is about to run. */
void fibers_init(struct loop *loop);
/* Runs all woken fibers until each waits again or has ended. Call it when the
 * loop does not run any more. */
void fibers_finish(void);
/* Frees the stacks kept for reuse. */
void fibers_done(void);

/* Runs fn(arg) in a new fiber, until it ends or first waits. Return: 0, or
 * -ENOMEM: it was not called. */
int fiber_start(void (*fn)(void *arg), void *arg);
/*
 * Runs fn(arg) in a new fiber; without one, directly, and then it cannot wait.
 */
void fiber_run(void (*fn)(void *arg), void *arg);
/* Returns the running fiber; NULL: none, so this code cannot wait. */
struct fiber *fiber_self(void);
/* Returns the list of what the fiber holds, for the module that fills it; empty
 * at first. */
struct list *fiber_held(struct fiber *f);
/* Returns a pointer for the fiber's user, borrowed; NULL at first. */
void **fiber_own(struct fiber *f);
/*
 * Returns a number of the running fiber, or of the loop outside of all fibers.
 * It is 0 at the start of each; mount/requests.c stores the number of the
 * request there.
 */
uint64_t *fiber_number(void);

/* Waits until fiber_resume() or fiber_wake(). */
void fiber_pause(void);
/* Continues f now. */
void fiber_resume(struct fiber *f);
/* Continues f soon, from the loop. */
void fiber_wake(struct fiber *f);
/* Lets the loop run other work once. */
void fiber_breathe(void);

#endif
