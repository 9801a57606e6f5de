/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environments that are built because jobs ask for packages that none has. A run
 * that waits for one is queued, but not with the scheduler: it has no machine and no
 * promise of one. One is built at a time, by a program that is started with the
 * server, since the server itself may start none. One that failed is not tried again
 * for ten minutes.
 */
#ifndef FSD_BUILDS_H
#define FSD_BUILDS_H

#include "run.h"

/* Starts the program, before the server gives up its rights. Return: 0, or a
 * negative errno with a sentence; d->builds stays NULL without --build-packages. */
int builds_open(struct fsd *d, struct err *err);
/* After the runs have gone. The program ends what it is at. */
void builds_close(struct fsd *d);
/* Has it to wait for a build? Then run_queue() follows, or its end. Return: 1, 0, or
 * a negative errno with a sentence: what it needs could not be built. */
int builds_take(struct run *run, struct err *err);
/* It goes. A no-op if it does not wait. */
void builds_leave(struct run *run);

#endif
