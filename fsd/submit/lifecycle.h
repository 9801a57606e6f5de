/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's own life: drain and resume, the end that waits for running jobs,
 * the end that does not, and handing over to another server.
 */
#ifndef FSD_LIFECYCLE_H
#define FSD_LIFECYCLE_H

#include "fsd/fsd.h"

void lifecycle_drain(struct fsd *d);
void lifecycle_resume(struct fsd *d);
/* now: running jobs end as interrupted; else the loop ends with the last. */
void lifecycle_stop(struct fsd *d, bool now);
/* Another server goes on: when no machine is at a program, or now. Jobs wait for
 * it; those that are running now end as interrupted. */
void lifecycle_hand_over(struct fsd *d, bool now);
/* A run ended, or watchers were told all: perhaps that was the last thing that
 * was waited for. */
void lifecycle_run_ended(struct fsd *d);

#endif
