/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of a spool's directory `new`, and which of them are complete.
 *
 *   e = entries_new(new_dir, &options, now, &err);
 *   for (;;) {
 *           poll({ entries_fd(e), POLLIN }, entries_timeout_ms(e, now));
 *           now = ...;
 *           entries_update(e, now, &err);
 *           while (another one may be claimed && (name = entries_next(e, now))) {
 *                   r = renameat(new_dir, name, claim, "input");
 *                   if (r fails with ENOENT)
 *                           entries_gone(e, name);
 *                   else if (entries_claimed(e, name, claim, "input", &err) == -EBUSY)
 *                           rename it back, then entries_returned(e, name, now);
 *           }
 *   }
 *
 * An entry is complete
 * 1. at once, if a rename has brought it, and no process has it open for writing;
 * 2. as a file, if no process has it open for writing, and two examinations that are
 *    settle_ms apart found it the same. Where no lease tells of writers it takes
 *    ENTRIES_NO_LEASE_MS at least: a network filesystem, a file of another owner, a system
 *    without leases;
 * 3. as a directory that was made in `new`, if rule 2 is true of each file in it, its list
 *    of files is the same as well, and it has a code.*;
 * 4. with a marker (options.ready) never before the marker is there: a file of this name in
 *    a directory, FILE.ready beside a file. Rules 1 to 3 then decide, but without
 *    ENTRIES_NO_LEASE_MS;
 * 5. if it could not be read for ENTRIES_UNREADABLE_MS, or is neither a file nor a
 *    directory: entries_claimed() says what is wrong with it.
 * "The same" compares type, inode, size, mtime and ctime. No file time is compared with a
 * clock.
 *
 * A time is in milliseconds of CLOCK_MONOTONIC. One thread uses it. Only Linux, with
 * leases and inotify, has rule 1 and finds writers.
 */
#ifndef FSD_SPOOL_ENTRIES_H
#define FSD_SPOOL_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/layout.h"

#define ENTRIES_NO_LEASE_MS 5000
#define ENTRIES_UNREADABLE_MS 60000

struct entries;

struct entries_options {
	unsigned settle_ms; /* --settle */
	unsigned poll_ms;   /* --poll: between two scans without events, at first */
	const char *ready;  /* --ready, borrowed; NULL: none */
	bool poll_only;     /* use no events of the system */
	bool any_directory; /* a directory needs no code.* */
};

struct entries_counts {
	size_t all;         /* entries, without ignored names */
	size_t complete;    /* how many of them entries_next() may return */
	int64_t oldest_ms;  /* since the oldest one was seen first; 0: there is none */
};

/* Scans the directory. new_dir: borrowed, until entries_free(). Return: NULL on error. */
struct entries *entries_new(int new_dir, const struct entries_options *options,
			    int64_t now, struct err *err);
void entries_free(struct entries *e);

/* poll(2) it for POLLIN. Return: -1, which poll(2) ignores, without events. */
int entries_fd(const struct entries *e);
/* Return: milliseconds until entries_update() has work. */
int entries_timeout_ms(const struct entries *e, int64_t now);
/*
 * Reads events, scans the directory if that is due, examines entries that are due. Does a
 * bounded part: entries_timeout_ms() is then 0. Return: 0; or negative errno: the
 * directory cannot be read. The entries stay then, and the next scan is tried after
 * poll_ms.
 */
int entries_update(struct entries *e, int64_t now, struct err *err);

/*
 * Finds the complete entry that was seen first; if one scan found several, the first by
 * name (bytes). Examines it once more: an entry that has changed meanwhile is complete no
 * longer. Return: its name, valid until the next call with e; NULL: there is none.
 */
const char *entries_next(struct entries *e, int64_t now);

/*
 * Call it when the caller has renamed the entry to `input` in the directory `at`. Forgets
 * the entry, removes its marker FILE.ready, and checks what was claimed as entry_check()
 * does. Return: 0; -EBUSY: `is still being written`, has changed since it was complete,
 * or cannot be read for now: rename it back; other negative errno: it can never run. The
 * sentence says why.
 */
int entries_claimed(struct entries *e, const char *name, int at, const char *input,
		    struct err *err);
/* Call it when the entry is gone from the directory, and this caller has not renamed
 * it. */
void entries_gone(struct entries *e, const char *name);
/* Call it when the caller has renamed the entry back, or could not claim it. After that
 * rule 2 or 3 decides when it is complete, never rule 1. */
void entries_returned(struct entries *e, const char *name, int64_t now);

void entries_count(const struct entries *e, int64_t now, struct entries_counts *ret);

/* --- without a struct entries ----------------------------------------------- */

/* True for a name that is never taken and never counted. */
bool entry_is_ignored(const char *name);

/*
 * Opens an entry for reading, without following a link and without waiting. name: has no
 * slash. *ret_is_dir may be NULL. Return: descriptor; or negative errno, with a sentence
 * for a person: -EINVAL for what is never opened (link, FIFO, device, socket).
 */
int entry_open(int dir, const char *name, bool *ret_is_dir, struct err *err);

/*
 * Checks a claimed entry: a file, or a directory with files and directories in it only,
 * which no process has open for writing. Return: 0; -EBUSY: `is still being written`, or
 * cannot be read for now; other negative errno. The sentence begins with the path below
 * dir.
 */
int entry_check(int dir, const char *name, struct err *err);

#endif
