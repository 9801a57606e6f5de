/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room only. */
#ifndef FSD_JOBS_INT_H
#define FSD_JOBS_INT_H

#include "job_watch.h"
#include "fsd/base/sorted_ids.h"

/* retention.c */
struct retention {
	struct sorted_ids left;  /* jobs that a previous server left done */
	struct list doomed;      /* of struct job */
	struct time_slice remove; /* goes through doomed */
	struct time_slice begin; /* goes through left */
	struct loop_timer timer; /* begins remove */
	struct hash owners;      /* owned: of struct retain_owner */
};

/* job_log.c */
struct log_writer {
	struct list unlogged;    /* of struct job: its log has lines that are */
	struct loop_timer timer; /* written when this is due, */
	bool writing;            /* by a fiber */
};

/* leftover.c */
struct leftovers {
	struct sorted_ids queued, refused;
	struct time_slice slice; /* takes them up */
	bool (*take_up)(struct fsd *d, uint64_t until);
};

/* event_log_read.c: the data of one read of `events`, used at once */
struct events_room {
	char out[EVENT_DATA_MAX + EVENT_HELD_MAX];
	char err[EVENT_DATA_MAX + EVENT_HELD_MAX];
	char shown[EVENT_DATA_MAX + EVENT_HELD_MAX];
	char order[4096];
	char result[EVENT_RESULT_MAX];
};

struct jobs {
	struct fsd *d;          /* borrowed */
	bool ended;             /* jobs_end() was called */
	const struct job_watcher *const *watchers; /* borrowed; ends with NULL */
	struct hash by_no, by_name;
	struct list all, cursors; /* of struct job, struct list_cursor */
	uint64_t seq;           /* given so far */
	struct list claims;     /* of struct name_claim */
	struct statistics *statistics; /* owned */
	struct unloaded_jobs *unloaded; /* owned, or NULL: every job is in all */
	struct retention retention;
	struct log_writer log_writer;
	struct leftovers leftovers;
	struct events_room events_room;
};

/* statistics.c. Return: 0 or -ENOMEM. */
int statistics_new(struct statistics **ret);
void statistics_free(struct statistics *s);
/* Each from jobs_end(): its timer does not come any more. */
void retention_end(struct retention *r);
void log_writer_end(struct log_writer *w);
void leftovers_end(struct leftovers *l);

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
