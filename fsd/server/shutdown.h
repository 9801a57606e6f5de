/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a server: with or without its running jobs, or by handing over to another server.
 * Context: the loop's thread.
 */
#ifndef FSD_SHUTDOWN_H
#define FSD_SHUTDOWN_H

#include "fsd/fsd.h"

/* Makes d->lifecycle, before any run. Return: 0 or -ENOMEM. */
int shutdown_init(struct fsd *d);
/* Ends the server. now: running jobs end as interrupted; else it ends after the
 * last of them. */
void shutdown_stop(struct fsd *d, bool now);
/* Ends the server so that another one takes over. now: at once, and running
 * programs are adopted; else when no machine runs a program. */
void shutdown_hand_over(struct fsd *d, bool now);

/*
 * Call it after store_open(): if the disk refuses a record, this server ends as
 * if it had been killed. After three such ends within a minute the mount is
 * read-only instead.
 */
void shutdown_heed_disk(struct fsd *d);
/*
 * Forgets all refusals of the disk, so that the next server writes again. Call it
 * when the operator asks for another server. This server stays as it is.
 */
void shutdown_trust_disk(struct fsd *d);

#endif
