/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of struct job, types only. Each part has one owner, which alone changes
 * it: other rooms read it, and call the owner's functions. Parts of rooms above stand
 * here too, because job.h cannot include their headers.
 */
#ifndef FSD_JOB_PARTS_H
#define FSD_JOB_PARTS_H

#include "fsd/base/time_slice.h"
#include "fsd/base/list_cursor.h"
#include "fsd/sched/sched.h"

struct parsed_config;
struct submit_deferred;
struct submit_examined;
struct inherit_untold;

/* job_state.c: what a close was promised. */
struct job_accept {
	bool promised; /* it is on record that the job starts, */
	uint64_t by;   /* for this open file, as 1 + fh; 0: unknown; */
	uint64_t no;   /* as the next of the queue after this one */
};

/* leftover.c: what a previous server left of it. */
struct job_leftover {
	bool cold; /* no user has asked for it since */
	bool left; /* it was queued or refused, and was not examined since */
	unsigned tries;     /* of servers, to have its newest run begin; */
	uint64_t queued_ns; /* MONOTONIC, since when they try; 0: unknown */
};

/* parsed_config.c: config.json as it was at this file and version. */
struct job_config_cache {
	struct parsed_config *parsed; /* a reference, or NULL */
	uint64_t ino, version;
};

/* unsynced_inputs.c: inputs whose fsync failed. */
struct job_unsynced {
	bool known; /* of all nodes it is known whether the disk has them; */
	bool some;  /* it has not all */
};

/* job_log.c: lines of `log` that are not in the store yet. */
struct job_log {
	struct buf lines;
	struct list unlogged; /* while there are some */
	bool flushing;        /* a fiber is about to store them */
};

/* removed_files.c: inputs that were removed. */
struct job_removed {
	struct node *root; /* owned; NULL: there are none, */
	uint64_t no;       /* of the submission of this queued_no */
};

/* submit/. */
struct job_submit {
	struct sched_place place; /* in the queue: while it is promised, or while a
				     rename or release is under way that may start
				     the job */
	struct submit_deferred *later; /* owned, or NULL: it is examined later */
	struct submit_examined *examined; /* owned: a verdict that may still hold */
	int failure;         /* negative errno: it is refused since it could not be
				read or stored, or had no place, when it was last
				examined; 0: for what it says */
	struct list draft;   /* draft.c: until the log says what it waits for, */
	uint64_t draft_ns;   /* which is due then (MONOTONIC) */
};

/* mount/inotify.c: what watchers (inotify) are to hear. */
struct job_inotify {
	struct list queue;  /* in one of its queues, with a reference */
	struct list notes;  /* owned: of struct note, oldest first */
	uint64_t due_ns;    /* of the first of them, */
	bool urgent;        /* which is soon: it is in the queue for that */
	unsigned announced; /* 1 << row: results that watchers know of */
	struct inherit_untold *untold; /* owned: while there are notes */
};

/* mount/blocked_reads.c: requests that wait for a change of the job. */
struct job_readers {
	struct list parked;  /* of struct parked */
	struct list polls;   /* of struct blocked_poll */
	struct list cursors; /* of struct list_cursor, through parked */
	struct time_slice kick; /* goes through both */
	struct list_cursor kick_at;
	bool kicked;         /* kick is under way and has a reference */
};

#endif
