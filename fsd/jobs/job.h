/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job object and the table of all jobs. A removed job has no name any more;
 * its number is known while a handle or a parked request refers to it.
 * job_state.c alone assigns meta.state.
 */
#ifndef FSD_JOB_H
#define FSD_JOB_H

#include "fsd/fsd.h"
#include "fsd/base/hash.h"
#include "fsd/base/fiber_lock.h"
#include "fsd/files/node.h"
#include "fsd/store/store.h"
#include "fsd/sched/sched.h"
#include "job_parts.h"
#include "job_results.h"
#include "retention.h"

struct run;
struct user;
struct events;
struct job_watcher;

struct job {
	struct fsd *d;          /* borrowed */
	struct job_meta meta;   /* as in the store; job_state.c and job.c change it */
	struct hash_node by_no, by_name;
	struct list all;        /* in jobs, in the order of making */
	uint64_t seq;           /* raised along that list, unique */
	unsigned refs;          /* the table's, handles', parked requests' */
	struct fiber_lock lock; /* whose turn it is to change it */
	bool removed;           /* no longer in the tree */
	struct user *owner;     /* borrowed; NULL without memory */
	struct node *files;     /* owned: what the user wrote */
	struct file_owner file_owner; /* the job as its files know it */
	struct list rows;       /* of struct open_vfile */
	char *error;            /* owned: text of `error`, NULL: empty; */
	bool error_stored;      /* but the store has it: job_error() */
	struct events *events;  /* owned: the newest run's, or NULL */
	unsigned holders;       /* open files of `hold`: held.c */
	struct retain retain;
	struct job_results results;
	struct job_accept accept;
	struct job_leftover leftover;
	struct job_config_cache config;
	struct job_unsynced unsynced;
	struct job_removed removed_files;
	struct job_log log;
	/* of rooms above */
	struct run *run;        /* run/; owned: the run that is not over, or NULL */
	struct job_submit submit;
	struct job_inotify inotify;
	struct job_readers readers;
	unsigned late_run;      /* fuse/: its log says that files of this run came
				   too late */
};

/* The job that the node is linked in; NULL: none. */
static inline struct job *job_of_node(const struct node *node)
{
	return node->owner ? container_of(node->owner, struct job, file_owner)
			   : NULL;
}

/* watchers: borrowed, constant, ends with NULL (job_watch.h). Return: 0 or -ENOMEM. */
int jobs_new(struct fsd *d, const struct job_watcher *const *watchers);
void jobs_end(struct fsd *d); /* ends every run; nothing is published */
bool jobs_ended(const struct fsd *d); /* also before jobs_new() */
void jobs_free(struct jobs *jobs);    /* when no job has a reference; NULL is fine */
struct job *job_by_no(struct fsd *d, uint64_t no);
struct job *job_by_name(struct fsd *d, const char *name);
/* For each job in order that is not not loaded yet (unloaded_jobs.h): pos is the list
 * node of job->all. */
struct list *jobs_all(struct fsd *d);
uint64_t jobs_last_seq(const struct fsd *d);
void jobs_walk(struct list_cursor *w, struct fsd *d); /* see list_cursor.h */

/* Makes a draft. Return: 0 or negative errno. */
int job_make(struct fsd *d, const char *name, mode_t mode, uid_t uid,
	     gid_t gid, struct job **ret_job);
/* For unloaded_jobs.c: takes up a job that the store holds. Return: 0 or -ENOMEM. */
int job_load(struct fsd *d, const struct job_meta *meta, struct job **ret_job);
int job_rename(struct job *job, const char *name);
/* Kills its run, deletes everything of it. Return: 0, or negative errno: the
 * disk would show it at the next start, so it is still there; its run has ended
 * as "cancelled". */
int job_remove(struct job *job);

/* One that a server before this one has removed, for what is open of it. A reference,
 * or NULL: nothing of it was open, or there is no memory. */
struct job *job_gone(struct fsd *d, uint64_t no);

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

/*
 * job_read.c: reads any file of the job's runs without blocking. Context: the loop.
 * Return: bytes, 0 at the end, negative errno; -EAGAIN: a fiber asks the disk, and
 * calls job_changed() then.
 */
ssize_t job_pread(struct job *job, int fd, char *room, size_t size,
		  uint64_t offset);

/* The text of `error`; "": empty. */
const char *job_error(struct job *job);
/* Replaces the text of `error` (NULL: none); a newline is added. */
void job_set_error(struct job *job, const char *sentence);
/* The same in memory alone: the store has it already, or has no room. */
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

#endif
