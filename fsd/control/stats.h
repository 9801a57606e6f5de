/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FSD_STATS_H
#define FSD_STATS_H

#include "fsd/fsd.h"

/*
 * Appends the text of .fsd/stats. all: with the figures of every user, not only
 * uid's. healthy: jobs can run, as .fsd/health says.
 */
void stats_text(struct fsd *d, uid_t uid, bool all, bool healthy, struct buf *out);

#endif
