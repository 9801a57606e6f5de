/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room only. */
#ifndef FSD_JOBS_INT_H
#define FSD_JOBS_INT_H

#include "job_watch.h"
#include "fsd/base/sorted_ids.h"

/* State of retention.c. */
struct retention {
	struct sorted_ids left;  /* jobs that were done when this server started */
	struct list doomed;      /* jobs to be removed, of struct job */
	struct time_slice remove; /* removes the jobs in doomed */
	struct time_slice begin; /* takes up the jobs in left */
	struct loop_timer timer; /* starts `remove` */
	struct hash owners;      /* owned: of struct retain_owner */
};

/* State of job_log.c. */
struct log_writer {
	struct list unlogged;    /* jobs whose log has lines that are not stored, of
				  * struct job */
	struct loop_timer timer; /* when these lines are written */
	bool writing;            /* a fiber is writing them */
};

/* State of leftover.c. */
struct leftovers {
	struct sorted_ids queued, refused;
	struct time_slice slice; /* takes up the jobs left by earlier servers */
	bool (*take_up)(struct fsd *d, uint64_t until);
};

/* Buffers of event_log_read.c for one read of `events`; they are used at once. */
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
	struct list all, cursors; /* jobs, of struct job; positions in that list, of
				   * struct list_cursor */
	uint64_t seq;           /* the last value that was given */
	struct list claims;     /* names that fibers claim, of struct name_claim */
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
/* jobs_end() calls each: it stops the timers of that file, and frees its lists. */
void retention_end(struct retention *r);
void log_writer_end(struct log_writer *w);
void leftovers_end(struct leftovers *l);

/* job_watch.c: each calls the callback of its name of every watcher. */
void watch_known(struct job *job);
void watch_entered(struct job *job);
void watch_leaving(struct job *job);
void watch_stays(struct job *job);
void watch_removed(struct job *job);
void watch_unloaded(struct job *job);
/* Return: false if no watcher could ask. */
bool watch_ask_removal(struct job *job);

#endif
