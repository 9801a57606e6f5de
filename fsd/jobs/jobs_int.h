/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room only. */
#ifndef FSD_JOBS_INT_H
#define FSD_JOBS_INT_H

#include "job_watch.h"

struct jobs {
	const struct job_watcher *const *watchers; /* borrowed; ends with NULL */
	struct hash by_no, by_name;
	struct list all, walks; /* of struct job, struct walk */
	uint64_t seq;           /* given so far */
	struct list claims;     /* of struct name_claim */
};

/* job_watch.c: calls the callback of that name of every watcher. */
void watch_known(struct job *job);
void watch_entered(struct job *job);
void watch_leaving(struct job *job);
void watch_stays(struct job *job);
void watch_removed(struct job *job);
void watch_unloaded(struct job *job);
/* Return: false if no watcher could ask. */
bool watch_ask_removal(struct job *job);

#endif
