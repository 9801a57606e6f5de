/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state directory cannot take a run: its disk is full, so that one after the
 * other would fail for want of room, or somebody has removed it. No run begins
 * then. Who runs may have the reserve for its end.
 */
#ifndef FSD_DISK_SPACE_H
#define FSD_DISK_SPACE_H

#include "fsd/fsd.h"

/* NULL, or what is wrong, a sentence. It is looked after until there is room;
 * sched_kick() follows. */
const char *disk_space_problem(struct fsd *d);
/* Something has just been stored: if that took the reserve, room is looked for
 * although nobody waits for it. */
void disk_space_noticed(struct fsd *d);

#endif
