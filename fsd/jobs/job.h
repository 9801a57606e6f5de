/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job object and the table of all jobs. A removed job has no name any more;
 * its number is known while a handle or a parked request refers to it. meta.state is assigned by event.c alone.
 */
#ifndef FSD_JOB_H
#define FSD_JOB_H

#include "fsd/fsd.h"
#include "fsd/base/hash.h"
#include "fsd/base/lane.h"
#include "fsd/files/node.h"
#include "fsd/store/depot.h"
#include "fsd/sched/sched.h"
#include "retain.h"

struct run;
struct parsed;
struct person;
struct commit_later;
struct events;
struct fdstore_entry;

struct job {
	struct fsd *d;          /* borrowed */
	struct job_meta meta;   /* as in the store */
	struct hash_node by_no, by_name;
	struct list all;        /* in jobs, in the order of making */
	uint64_t seq;           /* raised along that list, unique */
	unsigned refs;          /* the table's, handles', parked requests' */
	struct lane lane;       /* whose turn it is to change it */
	bool removed;           /* no longer in the tree */
	bool cold;              /* an earlier daemon has left it, and nobody has
				   asked for it since */
	struct person *owner;   /* borrowed; NULL without memory */
	struct node *files;     /* owned: what the user wrote */
	struct node *output;    /* owned: what the newest run left, or NULL; */
	bool output_unseen;     /* an earlier daemon's: job_output() looks */
	struct run *run;        /* owned: the run that is not over, or NULL */
	struct parsed *parsed;  /* a reference: config.json as it was at */
	uint64_t parsed_ino, parsed_version; /* this file and version */
	struct commit_later *later; /* owned by commit.c, or NULL */
	char *error;            /* owned: text of `error`, NULL: empty; */
	bool error_stored;      /* but the store has it: job_error() */
	int failure;            /* negative errno: it is refused since it could not
				   be read or stored, or had no place, when it
				   was last looked at; 0: for what it says */
	bool has_results;       /* of a run that is over: from its end until the
				   next one is queued, whatever the state */
	struct list unrecorded; /* while its record is to be written again */
	bool promised;          /* a close was answered: it is on record that
				   the job starts; commit_promise(), */
	uint64_t promised_by;   /* open file of that close, as 1 + fh; 0: unknown */
	uint64_t promised_no;   /* as the next of the queue after this one */
	struct sched_place place; /* in the queue, while that is so, or while a
				   rename or release is under way that may
				   start it */
	unsigned late_run;      /* its log says that files of it came too late */
	unsigned tries;         /* of servers, to have its newest run begin; */
	uint64_t queued_ns;     /* MONOTONIC, since when they try; 0: unknown */
	bool unstored_known;    /* unstored.c: of nodes it is known whether the */
	bool unstored;          /* disk has taken them; of some it has not */
	uint64_t gone_no;       /* inputs of the submission of this queued_no
				   were removed, as the store has it; */
	bool gone_inputs;       /* not its config alone */
	struct buf late;        /* result.json of the newest run, while the disk
				   does not take it */
	unsigned hidden;        /* 1 << row: result files removed by hand */
	unsigned copied;        /* 1 << row: a copy of one was written here */
	struct node *sink;      /* owned: the output/ that a copy brought into
				   this draft, or NULL */
	struct retain retain;
	struct file_owner file_owner; /* the job as its files know it */
	struct list rows;       /* of struct fdstore_row */
	struct buf log;         /* lines that are not in the store yet, */
	struct list unlogged;   /* while there are some; job_log.c */
	bool flushing;          /* a fiber is about to put them there */
	struct list draft;      /* until it is told what it waits for, which is */
	uint64_t draft_ns;      /* due then (MONOTONIC): submit/draft.c */
	struct events *events;  /* owned: the newest run's, or NULL */
	unsigned holders;       /* open files of `hold`: held.c */
	bool left;              /* a daemon before this one had it queued or
				   refused, and nobody has looked since */
	/* notify.c */
	struct list notify;     /* in one of its queues, with a reference */
	struct list notes;      /* owned: of struct note, oldest first */
	uint64_t notify_ns;     /* when the first of them is due, */
	bool notify_urgent;     /* which is soon: it is in the queue for that */
	unsigned announced;     /* 1 << row: results that watchers know of */
	struct inherit_untold *untold; /* owned: while there are notes */
	/* wait.c */
	struct list parked;     /* of struct parked */
	struct list polls;      /* of struct wait_poll */
	struct list walks;      /* of struct walk, through parked */
	struct turn kick;       /* goes through both */
	struct walk kick_at;
	bool kicked;            /* kick is under way and has a reference */
};

/* The job that the node is linked in; NULL: none. */
static inline struct job *job_of_node(const struct node *node)
{
	return node->owner ? container_of(node->owner, struct job, file_owner)
			   : NULL;
}

int jobs_new(struct fsd *d);
void jobs_free(struct fsd *d); /* ends every run; nothing is published */
struct job *job_by_no(struct fsd *d, uint64_t no);
struct job *job_by_name(struct fsd *d, const char *name);
/* For each job in order that is not on the shelf (shelf.h): pos is the list
 * node of job->all. */
struct list *jobs_all(struct fsd *d);
uint64_t jobs_last_seq(const struct fsd *d);
void jobs_walk(struct walk *w, struct fsd *d); /* see walk.h */

/* Makes a draft. Return: 0 or negative errno. */
int job_make(struct fsd *d, const char *name, mode_t mode, uid_t uid,
	     gid_t gid, struct job **ret_job);
/* For shelf.c: takes up a job that the store holds. Return: 0 or -ENOMEM. */
int job_load(struct fsd *d, const struct job_meta *meta, struct job **ret_job);
int job_rename(struct job *job, const char *name);
/* Kills its run, deletes everything of it. Return: 0, or negative errno: the
 * disk would show it at the next start, so it is still there; its run has ended
 * as "cancelled". */
int job_remove(struct job *job);

/* One that a daemon before this one has removed, for what is open of it. A
 * reference, or NULL without memory. */
struct job *job_gone(struct fsd *d, uint64_t no,
		     const struct fdstore_entry *entry);

struct job *job_ref(struct job *job);
void job_unref(struct job *job);

/* This fiber holds the job's lane, and it a reference, until it lets go of all
 * that it holds. */
void job_hold(struct job *job);
void jobs_let_go(void);
/* fn(job) in a fiber that holds the job: now, if nobody else does. */
void job_start(struct job *job, void (*fn)(struct job *job));

/* The name of a job that is being made or renamed: on the stack of the fiber
 * that does it, which waits until nobody else does. */
struct name_claim {
	struct list node;
	const char *name;
	struct list waiting; /* of struct claim_place */
};
void name_claim(struct fsd *d, struct name_claim *c, const char *name);
/* The same at once, of a name that no job has: false if it is not to be had. */
bool name_claim_free(struct fsd *d, struct name_claim *c, const char *name);
void name_release(struct name_claim *c);

/* What the newest run left, or NULL; the second gives it up. */
struct node *job_output(struct job *job);
struct node *job_take_output(struct job *job);
/* run_keep.c: it is about to go, and what is open of it is to outlive us. The
 * second: it stays after all. */
void job_keep_results(struct job *job);
void job_unkeep_results(struct job *job);
/* Makes and drops the place for a copied output/. */
int job_sink_make(struct job *job);
void job_sink_drop(struct job *job);
/* Its rows have changed: hidden, copied or the sink, which are on no record;
 * the next server is to know. The second: what of meta.run's is hidden. */
void job_keep(struct job *job);
unsigned job_kept_hidden(const struct job *job);

/* The text of `error`; "": empty. */
const char *job_error(struct job *job);
/* Replaces the text of `error` (NULL: none); a newline is added. */
void job_set_error(struct job *job, const char *sentence);
/* The same, when the store has it already. */
void job_show_error(struct job *job, const char *sentence);
/* job_log.c: a line of `log`, in the store soon, or when that is read. */
void job_log(struct job *job, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void job_log_flush(struct job *job); /* a fiber waits for it */
void job_log_soon(struct job *job);
void job_log_begin(struct job *job); /* flushes it, and nobody waits */
/* For reading; it grows. Return: fd, or negative errno: -ENOENT if it has no
 * line and cannot be made. */
int job_log_open(struct job *job);
void job_log_drop(struct job *job); /* nobody will read it */
/* Whether its last line says just that. A fiber that holds the job waits. */
bool job_log_ends_with(struct job *job, const char *text);
/* Something of it changed now. */
void job_touch(struct job *job);

bool job_is_frozen(const struct job *job); /* queued or running */
bool job_takes_copies(const struct job *job); /* of results; they have no effect */
/* True if the row is to be seen now. */
bool job_has_row(const struct job *job, enum job_row row);
/* It is between two attempts, and the one before has shown the row. */
bool job_had_row(const struct job *job, enum job_row row);

#endif
