/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on the loop's thread that may wait in its middle: a function with a
 * stack of its own. When it waits (for the disk, for a job that somebody else
 * is at) the loop goes on with what else there is, and comes back to it later.
 * So a request reads from top to bottom, and what it asks of a slow disk holds
 * up nobody else. Only fiber_pause() and what calls it gives the thread away:
 * between two such calls nobody else runs, no lock is needed.
 *
 * All of this belongs to the loop's thread.
 */
#ifndef FSD_FIBER_H
#define FSD_FIBER_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/os/loop.h"

struct fiber;

/* From now on there are fibers: the loop is about to run, and resumes them. */
void fibers_init(struct loop *loop);
/* Lets all that was woken run. The loop does not any more. */
void fibers_finish(void);
void fibers_done(void); /* gives the spare stacks back */

/* Runs fn(arg) now, until it ends or waits for the first time.
 * Return: 0, or -ENOMEM: it was not called. */
int fiber_start(void (*fn)(void *arg), void *arg);
/* In a fiber if there can be one, else right here, where nothing waits. */
void fiber_run(void (*fn)(void *arg), void *arg);
/* The one that runs now; NULL: none, nothing here may wait. */
struct fiber *fiber_self(void);
/* What it holds, for who gives it to it: a list, empty at its start. */
struct list *fiber_held(struct fiber *f);
/* Something of its own, borrowed; NULL at its start. */
void **fiber_own(struct fiber *f);
/* A number of the fiber that runs now, or of the loop outside of all fibers. It is 0 at
 * the start of each; mount/requests.c puts the number of the request there. */
uint64_t *fiber_number(void);

/* Until fiber_resume() or fiber_wake(). */
void fiber_pause(void);
/* Goes on with it now. */
void fiber_resume(struct fiber *f);
/* Goes on with it soon, from the loop. */
void fiber_wake(struct fiber *f);
/* The others have a turn. */
void fiber_breathe(void);

#endif
