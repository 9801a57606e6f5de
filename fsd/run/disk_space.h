/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops new runs while the disk of the state directory is full, or the directory was
 * removed: each run would fail there, one after the other. A run that has begun may use
 * the reserve to store its end. Context: the loop's thread, in a fiber or not; no call
 * waits.
 */
#ifndef FSD_DISK_SPACE_H
#define FSD_DISK_SPACE_H

#include "fsd/fsd.h"

/* Return: a sentence about the problem, borrowed, or NULL. While the disk is full, a timer
 * checks it, and calls sched_kick() when there is space again. */
const char *disk_space_problem(struct fsd *d);
/* Call it after storing an end, which may have used the reserve: begins these checks if
 * the disk is full, although no run waits for space. */
void disk_space_noticed(struct fsd *d);

#endif
