/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of struct job, types only. Each part has one owner, which alone changes it
 * once the job is in the table: other rooms read it, and call the owner's functions. Parts of rooms above stand
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
struct untold_record;

/* job_state.c: acceptance at close(2), before the release of the file. */
struct job_accept {
	bool promised; /* the record says `queued`; the job starts with the release */
	uint64_t by;   /* 1 + the handle (fh) of the open file whose close(2) was
		        * accepted; 0: unknown */
	uint64_t no;   /* the record's queued_no */
};

/* leftover.c: the job as a previous server left it. */
struct job_leftover {
	bool cold; /* no user has asked for the job since the start */
	bool left; /* queued or refused, and not examined since the start */
	unsigned tries;     /* servers that have tried to begin its newest run */
	uint64_t queued_ns; /* CLOCK_MONOTONIC when the job's wait began; 0: unknown */
};

/* parsed_config.c: config.json, parsed; valid for this inode and version. */
struct job_config_cache {
	struct parsed_config *parsed; /* a reference, or NULL */
	uint64_t ino, version;
};

/* unsynced_inputs.c: inputs whose fsync failed. */
struct job_unsynced {
	bool known; /* the stored list was read, and its nodes are marked */
	bool some;  /* at least one node is marked */
};

/* job_log.c: lines of `log` that are not in the store yet. */
struct job_log {
	struct buf lines;
	struct list unlogged; /* link in log_writer.unlogged while there are lines */
	bool flushing;        /* a fiber will store them */
};

/* removed_files.c: inputs that were removed. */
struct job_removed {
	struct node *root; /* owned: removed.N/; NULL: there is none */
	uint64_t no;       /* the queued_no that root belongs to */
};

/* submit/. */
struct job_submit {
	struct sched_place place; /* place in the queue, while the job is accepted and not
				   * started, or during a rename or release that may start
				   * it */
	struct submit_deferred *later; /* owned; not NULL: an examination is deferred */
	struct submit_examined *examined; /* owned: the kept verdict of close(2), or NULL */
	int failure;         /* why it was refused: a negative errno: the job could not be
			      * read or stored, or the queue was full; 0: the job is
			      * wrong */
	struct list draft;   /* in struct submit's drafts, until `log` says what the draft
			      * waits for */
	uint64_t draft_ns;   /* MONOTONIC: when that line is due */
};

/* mount/inotify.c: changes that were not reported to inotify yet. */
struct job_inotify {
	struct list queue;  /* link in one of inotify.c's queues, which has a reference to
			     * the job */
	struct list notes;  /* owned: of struct note, oldest first */
	uint64_t due_ns;    /* when the first note is due */
	bool urgent;        /* due_ns is soon: the job is in the queue of urgent ones */
	unsigned announced; /* 1 << vfile: results that users' inotify watches know of */
	struct untold_record *untold; /* owned: while there are notes */
};

/* mount/blocked_reads.c: requests that wait for a change of the job. */
struct job_readers {
	struct list parked;  /* parked reads, of struct parked */
	struct list polls;   /* poll handles, of struct blocked_poll */
	struct list cursors; /* positions in the list parked: struct list_cursor */
	struct time_slice kick; /* wakes the parked reads and the polls, in slices */
	struct list_cursor kick_at;
	bool kicked;         /* kick is under way and has a reference */
};

#endif
