/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by room.c, run_phase.c and sched_open.c only. */
#ifndef FSD_RUNS_INT_H
#define FSD_RUNS_INT_H

#include "layout/layout.h"
#include "runs.h"
#include "vm/os/loop.h"

/* room.c: the room on the disk, as it was found last. */
struct room {
	struct loop_timer timer; /* until there is room again */
	uint64_t looked_ns;      /* now_ns() of the last look, */
	bool full;               /* which found no room, */
	bool gone;               /* or no directory */
};

struct runs {
	struct run_counts counts; /* run_phase.c */
	struct room room;
	struct err sick; /* sched_open.c: why machines fail, while they do */
};

#endif
