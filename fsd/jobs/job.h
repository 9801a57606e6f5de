/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job object and the table of all jobs. A removed job has no name; its number is
 * found as long as a handle or a parked request has a reference. job_state.c alone
 * assigns meta.state. Context: the loop's thread; functions that write to the store are
 * called in a fiber that holds the job (job_hold()), and that fiber waits for the disk.
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
	struct job_meta meta;   /* as the store has it; job_state.c and job.c change it */
	struct hash_node by_no, by_name;
	struct list all;        /* link in jobs->all, oldest first */
	uint64_t seq;           /* unique; rises along that list */
	unsigned refs;          /* references by the table, handles and parked requests */
	struct fiber_lock lock; /* the fiber that has it may change the job */
	bool removed;           /* the job is no longer in the tree */
	struct user *owner;     /* borrowed; NULL: out of memory */
	struct node *files;     /* owned: the files that the user wrote */
	struct file_owner file_owner; /* the job as its files know it */
	struct list rows;       /* open results, of struct open_vfile */
	char *error;            /* owned: text of `error`; NULL: empty, or not read yet */
	bool error_stored;      /* the store has a text: job_error() reads it */
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
	/* owned by rooms above */
	struct run *run;        /* run/; owned: the run that is not over, or NULL */
	struct job_submit submit;
	struct job_inotify inotify;
	struct job_readers readers;
	unsigned late_run;      /* fuse/: the run whose late files the log reports */
};

/* Return: the job that has the node in its tree (borrowed); NULL: no job has. */
static inline struct job *job_of_node(const struct node *node)
{
	return node->owner ? container_of(node->owner, struct job, file_owner)
			   : NULL;
}

/* watchers: borrowed, constant, ends with NULL (job_watch.h). Return: 0 or -ENOMEM. */
int jobs_new(struct fsd *d, const struct job_watcher *const *watchers);
void jobs_end(struct fsd *d); /* ends every run, without a result */
bool jobs_ended(const struct fsd *d); /* true also before jobs_new() */
void jobs_free(struct jobs *jobs);    /* Call it when no reference to a job is left.
				       * NULL is fine. */
/* Return: borrowed, or NULL. Both load the job if it is unloaded. */
struct job *job_by_no(struct fsd *d, uint64_t no);
struct job *job_by_name(struct fsd *d, const char *name);
/* Return: the list of all loaded jobs (unloaded_jobs.h), the oldest first; its nodes are
 * job->all. */
struct list *jobs_all(struct fsd *d);
uint64_t jobs_last_seq(const struct fsd *d);
void jobs_walk(struct list_cursor *w, struct fsd *d); /* a cursor over all jobs:
						       * list_cursor.h */

/* Makes a draft. Return: 0 or negative errno. */
int job_make(struct fsd *d, const char *name, mode_t mode, uid_t uid,
	     gid_t gid, struct job **ret_job);
/* For unloaded_jobs.c: makes the object of a job that the store has. Return: 0 or
 * -ENOMEM. */
int job_load(struct fsd *d, const struct job_meta *meta, struct job **ret_job);
int job_rename(struct job *job, const char *name);
/* Kills the job's run and deletes the job. Return: 0; negative errno: the store could not
 * remove it, so it stays, and its run has ended as "cancelled". */
int job_remove(struct job *job);

/* Makes the object of a job that an earlier server has removed, for its open files.
 * Return: a new reference; NULL: no file of it was open, or out of memory. */
struct job *job_gone(struct fsd *d, uint64_t no);

struct job *job_ref(struct job *job);
void job_unref(struct job *job);

/* job_hold() takes the job's fiber lock and a reference for the calling fiber, which may
 * wait for another fiber. jobs_let_go() releases all jobs that the calling fiber
 * holds. */
void job_hold(struct job *job);
void jobs_let_go(void);
/* Calls fn(job) in a fiber that holds the job: at once, unless another fiber holds it. */
void job_start(struct job *job, void (*fn)(struct job *job));

/* The name of a job that is being made or renamed, on the stack of the fiber that does
 * it. name_claim() waits until no other fiber has claimed that name. */
struct name_claim {
	struct list node;
	const char *name;
	struct list waiting; /* fibers that wait for the name, of struct claim_place */
};
void name_claim(struct fsd *d, struct name_claim *c, const char *name);
/* Like name_claim(), but does not wait. Return: false if a job has the name, or another
 * fiber has claimed it. */
bool name_claim_free(struct fsd *d, struct name_claim *c, const char *name);
void name_release(struct name_claim *c);

/*
 * job_read.c: reads any file of the job's runs without blocking. Context: the loop.
 * Return: bytes, 0 at the end, negative errno; -EAGAIN: a fiber asks the disk, and
 * calls job_changed() then.
 */
ssize_t job_pread(struct job *job, int fd, char *room, size_t size,
		  uint64_t offset);

/* Return: the text of `error` (borrowed); "": empty. */
const char *job_error(struct job *job);
/* Replaces the text of `error` (NULL: none); a newline is added. */
void job_set_error(struct job *job, const char *sentence);
/* Sets the text in memory only: the store has it already, or the disk is full. */
void job_show_error(struct job *job, const char *sentence);
/* job_log.c: adds a line to `log`. It is gathered, and stored soon or when `log` is
 * read. */
void job_log(struct job *job, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void job_log_flush(struct job *job); /* stores the lines; the fiber waits */
void job_log_soon(struct job *job);  /* arms the timer that stores them */
void job_log_begin(struct job *job); /* stores them in another fiber; does not wait */
/* Opens `log` for reading; it may grow. Return: an owned descriptor; -ENOENT: it has no
 * line and cannot be made; another negative errno. */
int job_log_open(struct job *job);
void job_log_drop(struct job *job); /* drops lines that are not stored */
/* Return: true if the last line of `log` has exactly that text. In a fiber that holds the
 * job. */
bool job_log_ends_with(struct job *job, const char *text);
/* Sets the job's time of change to now. */
void job_touch(struct job *job);

#endif
