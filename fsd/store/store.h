/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state directory. Only store*.c know its shape:
 *
 *   STATE/format          which of these layouts it is; format.c
 *   STATE/key             what inode numbers are shuffled by; inode_number.c
 *   STATE/lock            held while a daemon serves this directory
 *   STATE/jobs/ID/meta    "key value" lines; state done publishes a result
 *   STATE/jobs/ID/log     the job's timeline, LIMIT_LOG_BYTES of it
 *   STATE/jobs/ID/error   why it was refused or could not be run
 *   STATE/jobs/ID/attempts  how earlier runs of this submission failed
 *   STATE/jobs/ID/unstored  inputs that the disk has not taken
 *   STATE/jobs/ID/files/  what the user wrote, under its own names
 *   STATE/jobs/ID/sink/   an output/ that was copied into a draft
 *   STATE/jobs/ID/removed.N/  inputs of the submission of queued_no N that its user
 *                         has removed
 *   STATE/jobs/ID/rN/     run N: result.json, order (event_line.h), and what is
 *                         not empty of stdout, stderr, shown, output/
 *   STATE/unlinked/       second names of files that are removed, and open
 *   STATE/trash/          on its way out; emptied by the worker
 *   STATE/lost+found/NAME/  what lay in jobs/ and is no job: entry, and why
 *   STATE/reserve         room that the results of runs get when there is none
 *
 * ID is ours; a job's name is a value in meta and never part of a path. The
 * names below files/ and output/ were checked (no "/", ".", ".."), and every
 * directory there was made by us, so no path leads through a link. What is a link
 * there leads nowhere on the host: store_io.h, STORE_LINK.
 */
#ifndef FSD_STORE_H
#define FSD_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "layout/layout.h"
#include "vm/os/loop.h"

struct store;
struct inherit_job;

#define STORE_ID_SIZE 24
#define STORE_PATH_MAX 8192

/* What meta holds. */
struct job_meta {
	uint64_t no;           /* unique for ever in this directory */
	char *name;            /* owned */
	uid_t uid;
	gid_t gid;
	mode_t mode;           /* the job directory's own, 0777 */
	enum job_state state;
	unsigned run;          /* number of the newest run, 0: none yet */
	unsigned exit_code;    /* of that run, when done */
	uint64_t created_ns, changed_ns; /* CLOCK_REALTIME */
	uint64_t queued_no;    /* rises in the order in which jobs were
				  accepted, 0: never was */
	uint64_t ended_ns;     /* CLOCK_REALTIME: of the newest run, when done */
	unsigned attempt;      /* which one of this submission that run is, 1.. */
	unsigned retry;        /* how many more than one there may be */
	uint32_t retain_s;     /* kept so long after its end; 0: for ever */
	bool held;             /* it goes with those who have `hold` open */
	unsigned format;       /* that it was read in; 0: it was not */
	struct inherit_job *copy; /* borrowed: the same for the next server,
				     which whoever writes it writes; or NULL */
};

/* The layout of the state directory that this daemon writes. */
#define STORE_FORMAT 3u

/* Makes a directory, its parents too, unless they are there. */
int store_make_dirs(const char *dir);

/* Opens or makes dir (0700), takes its lock, empties the trash.
 * Return: 0; -EBUSY: another daemon has it; negative errno. */
int store_open(struct loop *loop, const char *dir, struct store **ret_store,
	       struct err *err);
/* Waits for the worker. NULL is fine. */
void store_close(struct store *s);
/* Finishes every chore, their `done` included; there are none afterwards. */
void store_finish_tasks(struct store *s);

/*
 * A record that the disk refuses leaves the disk and the memory of this server apart.
 * refused() is called then (any thread; it does not return), and the next server shows
 * what the disk has. Want of room, memory or descriptors is no refusal: the caller gets
 * that errno. Without refused() the caller gets every errno.
 */
void store_on_refusal(struct store *s, void (*refused)(void *arg, int error),
		      void *arg);
/* Nothing starts and no user writes, because of why (copied). */
void store_set_read_only(struct store *s, const char *why);
/* That sentence (borrowed), or NULL. */
const char *store_read_only(const struct store *s);
/* True if r is want of room, memory or descriptors: the same call may succeed later. */
bool store_is_short(int r);
/* store_*.c only: erases dir/name soon; dir stays open until store_close(). */
int store_erase_later(struct store *s, int dir, const char *name);
int store_unlinked_fd(const struct store *s); /* borrowed */
/* store_*.c only: r is what became of a record. Return: r. */
int store_check_record(struct store *s, int r);

/* STATE/name to read and write; made unless it is there. Of a file system that is
 * read-only: to read. Return: fd or negative errno. */
int store_open_own(const struct store *s, const char *name);
int store_jobs_fd(const struct store *s); /* borrowed: STATE/jobs */
int store_root_fd(const struct store *s); /* borrowed: STATE */
const char *store_dir(const struct store *s);

/* A new number, larger than every one before. */
uint64_t store_next_no(struct store *s);
void store_id(uint64_t no, char ret_id[STORE_ID_SIZE]);

/* Makes the job's directory, files/ and meta. Nothing is left on failure. */
int store_job_make(struct store *s, const struct job_meta *meta);
/* Out of sight at once, gone a little later; there as it was on failure. */
int store_job_remove(struct store *s, uint64_t no);
int store_meta_write(struct store *s, const struct job_meta *meta);
/*
 * Calls fn for every job, in the order of their making; meta (and its name) is
 * only lent. What is no job, or damaged, is set aside (lost_found.c). Jobs of an
 * older format are written anew.
 * Return: 0, or negative errno with a sentence.
 */
int store_scan(struct store *s,
	       int (*fn)(void *arg, const struct job_meta *meta), void *arg,
	       struct err *err);
/* The same for one job. Return: 0: its name is the caller's; 1: it is none, and
 * gone or set aside; negative errno. */
int store_scan_one(struct store *s, uint64_t no, struct job_meta *ret);
/* An older one has its name. */
void store_set_twin_aside(struct store *s, uint64_t no);
/* No number up to this one is given again. */
void store_seen_no(struct store *s, uint64_t no);

/*
 * format.c. 0, or negative errno with a sentence: the directory is of a
 * newer format than ours, its format cannot be read, or it says none and has
 * what is not ours. Fresh: no jobs are there.
 */
int store_format_check(int root, const char *dir, bool fresh, struct err *err);
/* Every job is of our format and on the disk: the directory is. */
int store_format_set(int root, struct err *err);

/* tidy.c: removes what is of no more use in a job's directory: runs
 * before `run`, sink/ unless it is in use, removed inputs but those of the submission
 * queued_no. Return: 0 or negative errno. */
int store_tidy(struct store *s, uint64_t no, unsigned run, bool sink,
	       uint64_t queued_no);

/* prefetch.c: brings what a job's directory says of its files into memory, on
 * a thread: who asks for them then does not wait for the disk. */
void store_prefetch(struct store *s, uint64_t no);

/* lost_found.c: moves jobs/entry to lost+found/NAME/. Return: 0 or errno. */
int store_set_aside(struct store *s, const char *entry, const char *reason);
/* What is there. fn gets the number of each, which stays the same for as long
 * as the daemon lives, and its name. */
void store_lost_each(struct store *s,
		     void (*fn)(void *arg, uint64_t no, const char *name),
		     void *arg);
/* Its text: what, why, when, where. Return: 0, -ENOENT. */
int store_lost_text(struct store *s, uint64_t no, struct buf *out);
uint64_t store_lost_count(struct store *s);
/* Places that a daemon made and died before it had used them. */
void store_lost_tidy(struct store *s);

/*
 * sync.c, for threads: what durability.md promises; nothing on a relaxed
 * mount. A job's inputs, its directory and that it is there; what a run left;
 * the record, as store_meta_write(). Return: 0 or negative errno.
 */
void store_set_relaxed(struct store *s, bool relaxed);
bool store_is_relaxed(const struct store *s);
/* ret_unsynced: of files that the disk has not taken, each path below files/ and a
 * NUL, "" for all, as if it has failed; it is stored, too. */
int store_sync_inputs(struct store *s, uint64_t no, struct buf *ret_unsynced);
int store_sync_run(struct store *s, uint64_t no, unsigned run);
/* result.json alone, which was written anew. */
int store_sync_result(struct store *s, uint64_t no, unsigned run);
/* As store_meta_write(), and it outlives the host. In between a server that takes over
 * asks the disk for the record, and writes it once more. */
int store_meta_commit(struct store *s, const struct job_meta *meta);
/* As store_meta_write(), behind what became of the attempts before. */
int store_meta_again(struct store *s, const struct job_meta *meta);
/* `error`, `attempts` or `unstored`, or that there is none. */
int store_sync_words(struct store *s, uint64_t no, const char *name);

/* Bytes of the regular files below a part of it, "files" or "r1", but for the
 * one at its top that is named uncounted. Slow. */
uint64_t store_count(const struct store *s, uint64_t no, const char *part,
		     const char *uncounted);

/* store_*.c only: "ID" or "ID/tail"; ret_path has STORE_PATH_MAX bytes. */
void store_job_path(uint64_t no, const char *tail, char *ret_path);

/* store_*.c only: the text of meta, and back. ret keeps its no and owns the
 * name. An entry's number is one only as store_id() writes it.
 * Return: 0, -EINVAL or -ENOMEM. */
int store_meta_print(const struct job_meta *meta, struct buf *out);
int store_meta_parse(char *text, struct job_meta *ret);
int store_no(const char *id, uint64_t *ret_no);

/*
 * unlinked.c. A second name for jobs/path, which is about to go; STORE_UNLINKED and
 * that name is its path below jobs/. Return: 0 or negative errno. It is dropped soon: no
 * other file may get that name. The third drops at once what is not needed.
 */
#define STORE_UNLINKED "../unlinked/"
int store_unlinked_add(struct store *s, const char *path, const char *name);
void store_unlinked_drop(struct store *s, const char *name);
void store_unlinked_sweep(struct store *s, bool (*is_needed)(void *arg, const char *name),
			  void *arg);
/* The record of ret->no, a job that was removed, by its name there: its id. As
 * store_scan_one(). */
int store_unlinked_job(struct store *s, struct job_meta *ret);

/* An empty removed.N/, which may take the reserve, and its end. */
#define STORE_REMOVED "removed."
int store_removed_make(struct store *s, uint64_t no, uint64_t queued_no);
void store_removed_drop(struct store *s, uint64_t no, uint64_t queued_no);

/* An empty sink/, and its end. */
int store_sink_make(struct store *s, uint64_t no);
void store_sink_drop(struct store *s, uint64_t no);

/* Makes run `run`'s directory; what was there is gone, but if it is `again`. */
int store_run_make(struct store *s, uint64_t no, unsigned run, bool again);
/* If it is there: nothing is left but streams that are empty, which may be
 * open, and the file keep, which may be NULL. Return: 0 or negative errno. */
int store_run_reset(struct store *s, uint64_t no, unsigned run,
		    const char *keep);
/* Its directory is removed, soon; 0 is no run. */
void store_run_drop(struct store *s, uint64_t no, unsigned run);
bool store_run_has(struct store *s, uint64_t no, unsigned run);
#define ORDER_FILE "order" /* in the directory of a run: event_line.h */
/* One of its streams, for append and read; made if it is not there. */
int store_stream_open(struct store *s, uint64_t no, unsigned run,
		      const char *name);
/* Its output/, which a run that leaves no files does not have. */
int store_output_make(struct store *s, uint64_t no, unsigned run);
void store_output_drop(struct store *s, uint64_t no, unsigned run);
/* Writes rN/name whole or, on an error, not at all. Nobody reads it before the
 * job is done. */
int store_run_publish(struct store *s, uint64_t no, unsigned run,
		      const char *name, const void *data, size_t len);
/*
 * The disk's room. Once something has failed for want of it (or a quota of the
 * disk's), or next to nothing is left, it is full until store_find_space().
 * Any thread may call these; the last one may take long.
 */
/* After -ENOSPC: true if there is a little room now, once until room is found. It
 * is the caller's until store_reserve_used(), by the same thread. */
bool store_give_reserve(struct store *s);
void store_reserve_used(struct store *s);
void store_note_error(struct store *s, int result); /* which may say so */
bool store_is_full(struct store *s);
void store_recheck_space(struct store *s); /* it may be by now */
/* Somebody has removed it while it is served. */
bool store_is_gone(const struct store *s);
bool store_find_space(struct store *s); /* and to keep some of it. True: enough */
/* Takes it away again. Return: 0 or negative errno. */
int store_run_unpublish(struct store *s, uint64_t no, unsigned run,
			const char *name);
int store_run_open(struct store *s, uint64_t no, unsigned run,
		   const char *name);
/* Needs no descriptor: sizes are true also when there is none left. */
int store_run_stat(struct store *s, uint64_t no, unsigned run,
		   const char *name, struct stat *ret);
/* For threads. -ENOENT: the run has no directory yet. */
int store_run_append(struct store *s, uint64_t no, unsigned run,
		     const char *name, const void *data, size_t len);
/* What lies behind size is torn, and goes. Return: 0 or negative errno. */
int store_run_cut(struct store *s, uint64_t no, unsigned run, const char *name,
		  uint64_t size);
/* The text of `error`, NULL: none. Read: owned by the caller. */
int store_error_write(struct store *s, uint64_t no, const char *text);
char *store_error_read(struct store *s, uint64_t no);
/* Appends to the job's log, the older half of which goes when it is too long;
 * -ENOSPC and the like are returned. */
int store_log(struct store *s, uint64_t no, const char *lines, size_t len);
int store_log_open(struct store *s, uint64_t no);
int store_log_stat(struct store *s, uint64_t no, struct stat *ret);

/* failed_syncs.c: what store_sync_inputs() has found, until it is dropped. For
 * threads. Return: 0 (there may be none) or negative errno. */
int store_unsynced_write(struct store *s, uint64_t no, const struct buf *paths);
int store_unsynced_read(struct store *s, uint64_t no, struct buf *ret);
int store_unsynced_drop(struct store *s, uint64_t no);

/* attempts.c: how run `run` failed, one that has another one behind it.
 * Twice is as once. Return: 0 or negative errno. */
int store_attempt_add(struct store *s, uint64_t no, unsigned run,
		      const struct result_attempt *attempt);
/* How the count runs before run failed, the oldest first; what there is no
 * record of stays unknown. *ret_text (owned by the caller) has the messages. */
void store_attempts_read(struct store *s, uint64_t no, unsigned run,
			 struct result_attempt *ret, unsigned count,
			 char **ret_text);
/* store_*.c only: one line, which ret->message lies in. 0 or -EINVAL. */
int store_attempt_parse(char *line, unsigned *ret_run,
			struct result_attempt *ret);
/* Those of an earlier submission are of no more use. */
void store_attempts_drop(struct store *s, uint64_t no);

struct task;
enum store_thread {
	STORE_BACKGROUND, /* deletion, parsing and rendering of what is large */
	STORE_DISK,   /* what somebody waits for; several threads */
	STORE_THREADS
};
/* Gives a thread something slow to do; see worker_pool.h.
 * Return: 0, or -ESHUTDOWN if it has ended. */
int store_add_task(struct store *s, enum store_thread thread, struct task *t);

/*
 * Has work(arg) done by a thread for the disk while this fiber waits: every
 * system call that may change the state directory goes this way, since any
 * of them may wait for the disk (a journal that is being written, too much
 * that was not written yet). Outside of fibers (start and end, other threads)
 * it is simply called: the functions below may be called by a thread as well,
 * so that several of them are one way to it. Return: what work returned.
 */
int store_do(struct store *s, int (*work)(void *arg), void *arg);

/* work(arg, i) for each i below n, by this thread and by those for the disk that
 * have nothing else to do: worker_pool_share(). */
int store_share(struct store *s, int (*work)(void *arg, unsigned i), void *arg,
		unsigned n);

/* Closes fd, elsewhere if its file is so large that this may take long. */
void store_close_file(struct store *s, int fd);

/* Of this size on, a file takes the file system long to give up. */
#define STORE_LARGE MIB(8)

/* Out of sight at once (rename), gone a little later. A path relative to
 * STATE/jobs. -ENOENT is success. */
int store_trash(struct store *s, const char *path);
/* A file or an empty directory; what is large goes that way. */
int store_delete(struct store *s, const char *path, bool is_dir);
/* To what may be there already: what is large and replaced goes that way. At
 * any moment either name is what it was or what it is to be. */
int store_rename(struct store *s, const char *from, const char *to,
		 bool is_file);

#endif
