/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a server ends: with or without its running jobs, or by handing over to another
 * server. Context: the loop's thread.
 */
#ifndef FSD_SHUTDOWN_H
#define FSD_SHUTDOWN_H

#include "fsd/fsd.h"

/* Makes d->lifecycle, before any run. Return: 0 or -ENOMEM. */
int shutdown_init(struct fsd *d);
/* now: running jobs end as interrupted; else the loop ends with the last of them. */
void shutdown_stop(struct fsd *d, bool now);
/* The loop ends so that another server takes over: at once (now), and the running
 * programs are adopted; else when no machine runs a program. */
void shutdown_hand_over(struct fsd *d, bool now);

/*
 * After store_open(): a record that the disk refuses ends this server as if it had been
 * killed. If three servers ended so within a minute, the mount is read-only instead.
 */
void shutdown_heed_disk(struct fsd *d);
/* The operator asks for another server: it may write again. */
void shutdown_trust_disk(struct fsd *d);

#endif
