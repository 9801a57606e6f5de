/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drain: the operator stops new jobs from starting, and lets them start once more.
 * The next server inherits the operator's choice. Context: the loop or a fiber.
 */
#ifndef FSD_DRAIN_H
#define FSD_DRAIN_H

#include "fsd/fsd.h"

/* Restores the drain of the previous server. */
void drain_take_over(struct fsd *d);
void drain_begin(struct fsd *d);
/* Ends the drain, and takes up leftovers (jobs/leftover.h) again. Does nothing while the
 * server stops. */
void drain_end(struct fsd *d);

#endif
