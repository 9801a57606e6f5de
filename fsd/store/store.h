/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state directory. Only this room knows its layout:
 *
 *   STATE/format          the number of this layout; format.c
 *   STATE/key             the key that inode numbers are shuffled with; inode_number.c
 *   STATE/lock            held while a daemon serves this directory
 *   STATE/jobs/ID/meta    "key value" lines; state done publishes a result
 *   STATE/jobs/ID/log     the job's timeline, LIMIT_LOG_BYTES of it
 *   STATE/jobs/ID/error   why it was refused or could not be run
 *   STATE/jobs/ID/attempts  how earlier runs of this submission failed
 *   STATE/jobs/ID/unstored  inputs whose fsync(2) failed
 *   STATE/jobs/ID/files/  what the user wrote, under its own names
 *   STATE/jobs/ID/sink/   an output/ that was copied into a draft
 *   STATE/jobs/ID/removed.N/  inputs of the submission of queued_no N that its user
 *                         has removed
 *   STATE/jobs/ID/rN/     run N: result.json, order (event_line.h), and what is
 *                         not empty of stdout, stderr, shown, output/
 *   STATE/unlinked/       second names of files that are removed, and open
 *   STATE/trash/          what a worker thread deletes
 *   STATE/lost+found/NAME/  an entry of jobs/ that is no job, and why
 *   STATE/reserve         64 KiB that results of runs get when the disk is full
 *
 * The server chooses ID; a job's name is a value in meta and never part of a path. The
 * names below files/ and output/ were checked (no "/", ".", ".."), and the server made
 * every directory there, so no path leads through a link. A symbolic link there points
 * nowhere on the host: STORE_LINK in store_io.h.
 *
 * Times are nanoseconds, sizes are bytes. Context: functions that write go through
 * store_do(), so a fiber waits while a thread for the disk does the call; outside of
 * fibers the caller's thread does it. These always use the caller's thread, and block it:
 * the mkdir(2) of store_run_make(), store_run_publish(), store_run_unpublish(),
 * store_run_cut(), store_error_write(), store_log() and store_attempt_add(). "For threads"
 * marks functions that only a worker thread, or a server that starts or ends, may call:
 * they block for as long as the disk does.
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
struct job_record;

#define STORE_ID_SIZE 24
#define STORE_PATH_MAX 8192

/* The record of a job: the content of its meta. */
struct job_meta {
	uint64_t no;           /* never given to another job of this directory */
	char *name;            /* owned */
	uid_t uid;
	gid_t gid;
	mode_t mode;           /* the job directory's own, 0777 */
	enum job_state state;
	unsigned run;          /* number of the newest run, 0: none yet */
	unsigned exit_code;    /* of run `run`, when it is done */
	uint64_t created_ns, changed_ns; /* CLOCK_REALTIME */
	uint64_t queued_no;    /* larger than that of any job accepted before;
				  0: this job was never accepted */
	uint64_t ended_ns;     /* CLOCK_REALTIME: end of run `run`, when it is done */
	unsigned attempt;      /* number of run `run` within this submission, from 1 */
	unsigned retry;        /* most further attempts after the first one */
	uint32_t retain_s;     /* seconds between its end and its removal; 0: never */
	bool held;             /* removed when the last open `hold` is closed */
	unsigned format;       /* format of the text from which it was read; 0: not
			        * read */
	struct job_record *copy; /* borrowed: this record's copy in shared memory,
				     or NULL; each writer of meta updates it */
};

/* The format that this server writes. */
#define STORE_FORMAT 3u

/* Makes dir (0700) and its missing parents (0755). Return: 0 or negative errno. */
int store_make_dirs(const char *dir);

/* Opens or makes dir (0700), locks it, and begins to empty the trash. *ret_store is
 * owned: store_close(). Return: 0; -EBUSY: another server has the lock; another negative
 * errno; each with a sentence. */
int store_open(struct loop *loop, const char *dir, struct store **ret_store,
	       struct err *err);
/* Ends the threads as store_finish_tasks() does, and frees s. NULL is fine. */
void store_close(struct store *s);
/* Runs every task to its end, with its `done`. Later tasks get -ESHUTDOWN. */
void store_finish_tasks(struct store *s);

/*
 * A record that the disk refuses makes the disk and the memory of this server differ.
 * Then refused() is called (on any thread; it does not return), and the next server shows
 * what the disk has. Want of room, memory or descriptors is no refusal: the caller gets
 * that errno. Without refused() the caller gets every errno.
 */
void store_on_refusal(struct store *s, void (*refused)(void *arg, int error),
		      void *arg);
/* Makes the mount read-only: no job starts and no user writes. why: a sentence,
 * copied. */
void store_set_read_only(struct store *s, const char *why);
/* Return: that sentence, borrowed; NULL: the mount is not read-only. */
const char *store_read_only(const struct store *s);
/* True if r is want of room, memory or descriptors: the same call may succeed later. */
bool store_is_short(int r);
/* This room only: deletes dir/name on a worker thread. dir is borrowed until
 * store_close(). Return: 0, -ENOMEM or -ESHUTDOWN: the name stays. */
int store_erase_later(struct store *s, int dir, const char *name);
int store_unlinked_fd(const struct store *s); /* borrowed */
/* This room only: calls refused() if r, the result of writing a record, is a refusal.
 * Return: r. Any thread. */
int store_check_record(struct store *s, int r);

/* Opens or makes STATE/name for reading and writing; on a read-only file system for
 * reading. Return: an owned descriptor, or negative errno. */
int store_open_own(const struct store *s, const char *name);
int store_jobs_fd(const struct store *s); /* borrowed: STATE/jobs */
int store_root_fd(const struct store *s); /* borrowed: STATE */
const char *store_dir(const struct store *s);

/* Return: a new number, larger than all that were given before. */
uint64_t store_next_no(struct store *s);
void store_id(uint64_t no, char ret_id[STORE_ID_SIZE]);

/* Makes the job's directory, files/ and meta. On failure it removes what it made.
 * Return: 0 or negative errno. */
int store_job_make(struct store *s, const struct job_meta *meta);
/* Moves the job's directory to the trash; a worker thread deletes it. On failure the job
 * is unchanged. Return: 0 or negative errno. */
int store_job_remove(struct store *s, uint64_t no);
/* Writes meta, without a sync. Return: 0 or negative errno. */
int store_meta_write(struct store *s, const struct job_meta *meta);
/*
 * For threads. Calls fn for every job, the oldest first; meta and its name are borrowed
 * for the call. Moves damaged entries, and entries that are no job, to lost+found. Writes
 * records of an older format anew. Return: 0, or negative errno with a sentence.
 */
int store_scan(struct store *s,
	       int (*fn)(void *arg, const struct job_meta *meta), void *arg,
	       struct err *err);
/* Reads the record of one job. Return: 0: the caller owns ret->name; 1: there is no such
 * job (what lay there is removed or set aside); negative errno: it cannot be read now. */
int store_scan_one(struct store *s, uint64_t no, struct job_meta *ret);
/* Moves a job to lost+found because an older job has the same name. */
void store_set_twin_aside(struct store *s, uint64_t no);
/* Makes store_next_no() return larger numbers than no. */
void store_seen_no(struct store *s, uint64_t no);

/*
 * format.c. Checks that this server can use the directory. Return: 0, or negative errno
 * with a sentence: the format is newer, or cannot be read; or there is no format, and
 * files that fsd does not write. fresh: jobs/ does not exist yet.
 */
int store_format_check(int root, const char *dir, bool fresh, struct err *err);
/* Syncs the file system, then writes our format. Call it when every job has that
 * format. */
int store_format_set(int root, struct err *err);

/* tidy.c: deletes leftovers of a killed server in a job's directory: runs before `run`,
 * sink/ unless sink is true, and inputs that were removed, except from the submission
 * queued_no. Return: 0 or negative errno. */
int store_tidy(struct store *s, uint64_t no, unsigned run, bool sink,
	       uint64_t queued_no);

/* prefetch.c: reads a job's directories and inodes on a thread for the disk, so that
 * later lookups do not wait for it. It ignores errors. */
void store_prefetch(struct store *s, uint64_t no);

/* lost_found.c: moves jobs/entry to lost+found/NAME/. Return: 0 or negative errno. */
int store_set_aside(struct store *s, const char *entry, const char *reason);
/* Calls fn for each entry of lost+found, with its name (borrowed) and a number that is a
 * hash of the name. */
void store_lost_each(struct store *s,
		     void (*fn)(void *arg, uint64_t no, const char *name),
		     void *arg);
/* Appends the text of entry no: what it was, why and when it was moved, where it is.
 * Return: 0, -ENOENT or another negative errno. */
int store_lost_text(struct store *s, uint64_t no, struct buf *out);
uint64_t store_lost_count(struct store *s);
/* Removes empty directories of lost+found: a server died before it moved an entry. */
void store_lost_tidy(struct store *s);

/*
 * sync.c, for threads: the syncs that durability.md promises. On a relaxed mount they sync
 * nothing; functions that also write still write. Return: 0 or negative errno.
 */
void store_set_relaxed(struct store *s, bool relaxed);
bool store_is_relaxed(const struct store *s);
/* Syncs a job's inputs, its directory, and its entry in jobs/. ret_unsynced gets the path
 * below files/ of each file whose fsync(2) failed, and a NUL; an empty path, or a failed
 * buf, means any file. That list is also written to `unstored`. */
int store_sync_inputs(struct store *s, uint64_t no, struct buf *ret_unsynced);
/* Syncs rN/ with all that is in it, and the job's directory. */
int store_sync_run(struct store *s, uint64_t no, unsigned run);
/* Syncs result.json and its directory, after it was replaced. */
int store_sync_result(struct store *s, uint64_t no, unsigned run);
/* Writes and syncs meta; on a relaxed mount it only writes. Until it returns, a new
 * server reads the record from the disk and writes it again. */
int store_meta_commit(struct store *s, const struct job_meta *meta);
/* Syncs `attempts`, then writes meta, so that meta counts no attempt before its line is
 * durable. If that sync fails, it logs this and writes meta. Goes through store_do(). */
int store_meta_again(struct store *s, const struct job_meta *meta);
/* name: `error`, `attempts` or `unstored`. Syncs that file and the job's directory; if
 * there is no such file, the directory alone, so that its absence is durable. */
int store_sync_words(struct store *s, uint64_t no, const char *name);

/* For threads. Return: bytes of regular files and link targets below part ("files" or
 * "r1"), without the file `uncounted` at its top. */
uint64_t store_count(const struct store *s, uint64_t no, const char *part,
		     const char *uncounted);

/* This room only: writes "ID" or "ID/tail"; ret_path has STORE_PATH_MAX bytes. */
void store_job_path(uint64_t no, const char *tail, char *ret_path);

/* This room only. They print meta; parse it (ret->no is kept, ret->name is owned); and
 * parse an entry's name, which must be spelled as store_id() spells it. text is changed.
 * Return: 0, -EINVAL or -ENOMEM. */
int store_meta_print(const struct job_meta *meta, struct buf *out);
int store_meta_parse(char *text, struct job_meta *ret);
int store_no(const char *id, uint64_t *ret_no);

/*
 * unlinked.c. store_unlinked_add() gives jobs/path a second name before its own name is
 * removed: STORE_UNLINKED "name", relative to jobs/. Return: 0 or negative errno.
 * store_unlinked_drop() deletes a name on a worker thread, so a name is never reused.
 * store_unlinked_sweep() deletes at once all names for which is_needed() is false.
 */
#define STORE_UNLINKED "../unlinked/"
int store_unlinked_add(struct store *s, const char *path, const char *name);
void store_unlinked_drop(struct store *s, const char *name);
void store_unlinked_sweep(struct store *s, bool (*is_needed)(void *arg, const char *name),
			  void *arg);
/* Reads the record of the removed job ret->no; its name there is its ID. Return: as
 * store_scan_one(). */
int store_unlinked_job(struct store *s, struct job_meta *ret);

/* store_removed_make() makes an empty removed.N/, if need be with the space of the
 * reserve; store_removed_drop() moves it to the trash. */
#define STORE_REMOVED "removed."
int store_removed_make(struct store *s, uint64_t no, uint64_t queued_no);
void store_removed_drop(struct store *s, uint64_t no, uint64_t queued_no);

/* store_sink_make() makes an empty sink/, in place of an older one; store_sink_drop()
 * moves it to the trash. */
int store_sink_make(struct store *s, uint64_t no);
void store_sink_drop(struct store *s, uint64_t no);

/* Makes rN/. Without `again` it deletes an rN/ that a killed server left. Return: 0 or
 * negative errno. */
int store_run_make(struct store *s, uint64_t no, unsigned run, bool again);
/* Empties rN/ except for the file keep (may be NULL) and empty streams, which a reader
 * may have open. Without rN/ it does nothing. Return: 0 or negative errno. */
int store_run_reset(struct store *s, uint64_t no, unsigned run,
		    const char *keep);
/* Moves rN/ to the trash. run 0: does nothing. */
void store_run_drop(struct store *s, uint64_t no, unsigned run);
bool store_run_has(struct store *s, uint64_t no, unsigned run);
#define ORDER_FILE "order" /* a file in rN/; see event_line.h */
/* Opens or makes the stream rN/name for appending and reading. Return: an owned
 * descriptor, or negative errno. */
int store_stream_open(struct store *s, uint64_t no, unsigned run,
		      const char *name);
/* store_output_make() makes rN/output, for a run that leaves files; store_output_drop()
 * moves it to the trash. */
int store_output_make(struct store *s, uint64_t no, unsigned run);
void store_output_drop(struct store *s, uint64_t no, unsigned run);
/* Writes rN/name; on an error it removes the file. It is not atomic: no reader opens the
 * file before the job is done. */
int store_run_publish(struct store *s, uint64_t no, unsigned run,
		      const char *name, const void *data, size_t len);
/*
 * Free space. The disk counts as full from the first call that fails with ENOSPC or
 * EDQUOT, or when less than 64 KiB are free, until store_find_space() succeeds. Any
 * thread; store_find_space() blocks.
 */
/* Call it after -ENOSPC. Return: true if the reserve was freed for this thread, which
 * calls store_reserve_used() when it has written. The reserve is given once until
 * store_find_space() has filled it again. */
bool store_give_reserve(struct store *s);
void store_reserve_used(struct store *s);
void store_note_error(struct store *s, int result); /* full, if that is -ENOSPC or -EDQUOT */
bool store_is_full(struct store *s);
void store_recheck_space(struct store *s); /* full, if statvfs(3) says so */
/* True if STATE/jobs was removed while this server uses it. */
bool store_is_gone(const struct store *s);
/* Tries to fill the reserve. Return: true if a run has enough space now. */
bool store_find_space(struct store *s);
/* Removes rN/name. Return: 0, also if there is no such file; or negative errno. */
int store_run_unpublish(struct store *s, uint64_t no, unsigned run,
			const char *name);
/* Opens rN/name for reading. Return: an owned descriptor, or negative errno. */
int store_run_open(struct store *s, uint64_t no, unsigned run,
		   const char *name);
/* stat(2) of rN/name, by name: sizes stay true when no descriptor is free. */
int store_run_stat(struct store *s, uint64_t no, unsigned run,
		   const char *name, struct stat *ret);
/* For threads. Appends all of data to rN/name, or nothing. Return: 0; -ENOENT: there is
 * no rN/ yet; another negative errno. */
int store_run_append(struct store *s, uint64_t no, unsigned run,
		     const char *name, const void *data, size_t len);
/* Cuts rN/name to size, to drop a torn end. Return: 0 or negative errno. */
int store_run_cut(struct store *s, uint64_t no, unsigned run, const char *name,
		  uint64_t size);
/* store_error_write() writes `error`; text NULL: removes it. Return: 0 or negative errno.
 * store_error_read() returns its text, owned by the caller, or NULL. */
int store_error_write(struct store *s, uint64_t no, const char *text);
char *store_error_read(struct store *s, uint64_t no);
/* Appends lines to the job's log. If the log is longer than LIMIT_LOG_BYTES, its older
 * half is dropped. Return: 0 or negative errno. */
int store_log(struct store *s, uint64_t no, const char *lines, size_t len);
int store_log_open(struct store *s, uint64_t no);
int store_log_stat(struct store *s, uint64_t no, struct stat *ret);

/* failed_syncs.c, for threads: writes, reads and removes `unstored`, the list of
 * store_sync_inputs(). Return: 0, also if there is no list; or negative errno. */
int store_unsynced_write(struct store *s, uint64_t no, const struct buf *paths);
int store_unsynced_read(struct store *s, uint64_t no, struct buf *ret);
int store_unsynced_drop(struct store *s, uint64_t no);

/* attempts.c: records how run `run` failed, before the next attempt begins. Idempotent.
 * Return: 0 or negative errno. */
int store_attempt_add(struct store *s, uint64_t no, unsigned run,
		      const struct result_attempt *attempt);
/* Reads how the `count` runs before `run` failed, the oldest first; ret[i].known is false
 * for a run without a line. *ret_text (owned by the caller) holds the messages. */
void store_attempts_read(struct store *s, uint64_t no, unsigned run,
			 struct result_attempt *ret, unsigned count,
			 char **ret_text);
/* This room only: parses one line, which it changes; ret->message points into it.
 * Return: 0 or -EINVAL. */
int store_attempt_parse(char *line, unsigned *ret_run,
			struct result_attempt *ret);
/* Removes `attempts`, at the start of a new submission. */
void store_attempts_drop(struct store *s, uint64_t no);

struct task;
enum store_thread {
	STORE_BACKGROUND, /* one thread: deletes trees, parses large configs */
	STORE_DISK,   /* several threads: calls that a fiber waits for */
	STORE_THREADS
};
/* Queues t for a thread; see worker_pool.h. Any thread. Return: 0, or
 * -ESHUTDOWN after store_finish_tasks(). */
int store_add_task(struct store *s, enum store_thread thread, struct task *t);

/*
 * Runs work(arg) on a thread for the disk while the calling fiber waits. Every system
 * call that may change the state directory goes this way, because any of them may block
 * for the disk (on the file system's journal, or while dirty pages are written).
 * Outside of fibers work(arg) runs on the caller's thread; so work may call functions
 * that use store_do() themselves, without another switch. Return: work's result.
 */
int store_do(struct store *s, int (*work)(void *arg), void *arg);

/* Runs work(arg, i) for each i below n, on this thread and on idle threads for the disk;
 * see worker_pool_share(). Return: 0, or the first error. */
int store_share(struct store *s, int (*work)(void *arg, unsigned i), void *arg,
		unsigned n);

/* Closes fd (owned); a worker thread does it if the file is large, because the last close
 * of an unlinked file frees its blocks. */
void store_close_file(struct store *s, int fd);

/* Files of at least this size take the file system long to free. */
#define STORE_LARGE MIB(8)

/* Renames path (relative to STATE/jobs) into the trash; a worker thread deletes it.
 * Return: 0, also if path does not exist; or negative errno. */
int store_trash(struct store *s, const char *path);
/* Removes a file or an empty directory; a large file goes to the trash. */
int store_delete(struct store *s, const char *path, bool is_dir);
/* rename(2), atomic as that is; a large file that is replaced goes to the trash. */
int store_rename(struct store *s, const char *from, const char *to,
		 bool is_file);

#endif
