/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by disk_space.c, run.c, run_phase.c, run_prepare.c and sched_open.c only. */
#ifndef FSD_RUNS_INT_H
#define FSD_RUNS_INT_H

#include <sys/types.h>

#include "layout/layout.h"
#include "vm/environment/environment.h"
#include "fsd/base/hash.h"
#include "runs.h"
#include "vm/os/loop.h"

/* disk_space.c: the free space of the disk, as of the last check. */
struct room {
	struct loop_timer timer; /* time of the next check, while the disk is full */
	uint64_t looked_ns;      /* now_ns() of the last check */
	bool full;               /* the check found a full disk */
	bool gone;               /* the check found that the state directory was
				  * removed */
};

/* run_prepare.c: the environment of a user's last job in each language. */
struct last_environments {
	struct hash_node by_uid;
	uid_t uid;
	char id[LANG_MAX][SHA_HEX]; /* ENVIRONMENT_BASE: the job used none; "": the user
				     * had no job in this language yet */
};

struct runs {
	const struct run_host *own, *living; /* borrowed, for run_host_of() */
	struct run_counts counts; /* run_phase.c */
	struct room room;
	struct hash last; /* owned entries: struct last_environments */
	struct err sick; /* sched_open.c: why machines fail now */
};

#endif
