/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knows the entries of a spool's directory `new`. An entry goes one way:
 *
 *   scan or event -> fresh -> waiting -> complete -> claimed, and forgotten
 *                               ^____________|  it has changed
 *
 *   fresh     its name is known, it was not examined yet
 *   waiting   it is examined again when it is due
 *   complete  entries_next() may return it
 *
 * So that 100,000 entries cost names only, a fresh entry is examined no earlier than there
 * are fewer than AHEAD others that may become complete. One that was found incomplete after
 * settle_ms is not counted: a slow writer delays no other entry.
 */
#include "entries.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "entries_int.h"

#define AHEAD 4096
#define EXAMINE_MOST 500 /* entries that one update examines */
#define EXAMINE_MS 50    /* milliseconds in which one update begins examinations */

/* --- examining ------------------------------------------------------------- */

int64_t entries_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool may_examine_fresh(const struct entries *e)
{
	return !list_empty(&e->fresh) && e->ahead + e->complete.count < AHEAD;
}

/* Alternates between slow and fresh entries, so that slow ones delay no fresh ones. */
static void examine_due(struct entries *e, int64_t now)
{
	int64_t ahead = entries_clock() - now;

	for (int n = 0; n < EXAMINE_MOST &&
			entries_clock() - ahead - now < EXAMINE_MS; n++) {
		struct entry *x = queue_first(&e->waiting);

		if (!x || x->key > now || (n % 2 && may_examine_fresh(e))) {
			if (!may_examine_fresh(e))
				break;
			x = list_first(&e->fresh, struct entry, in_fresh);
		}
		entries_examine(e, x, ahead);
	}
}

/* --- events -------------------------------------------------------------------- */

struct change {
	struct entries *e;
	int64_t now;
};

static bool is_waiting(const struct entry *x)
{
	return x->state == ENTRY_AHEAD || x->state == ENTRY_SLOW;
}

static void marker_changed(struct entries *e, const char *name, int64_t now)
{
	char file[NAME_MAX + 1];
	size_t len = strlen(name), end = strlen(ENTRIES_MARKER);
	struct entry *x;

	if (len <= end || len > NAME_MAX || strcmp(name + len - end, ENTRIES_MARKER) != 0)
		return;
	snprintf(file, sizeof(file), "%.*s", (int)(len - end), name);
	x = table_find(&e->table, file);
	if (x && is_waiting(x))
		entries_wait(e, x, ENTRY_AHEAD, now);
}

static void on_change(void *arg, const char *name, enum watch_change change)
{
	const struct change *c = arg;
	struct entries *e = c->e;
	struct entry *x;

	if (entry_is_ignored(name)) {
		marker_changed(e, name, c->now);
		return;
	}
	x = table_find(&e->table, name);
	if (!x && change != WATCH_REMOVED)
		x = entries_add(e, name, c->now);
	if (!x)
		return;
	if (change == WATCH_RENAMED && !x->returned) {
		x->sight.type = 0;
		x->renamed = true;
		entries_wait(e, x, ENTRY_AHEAD, c->now);
	} else if (change == WATCH_REMOVED) {
		entries_restart(e, x, c->now);
	} else if (is_waiting(x)) {
		entries_wait(e, x, x->state, c->now);
	}
}

/* --- for the caller ------------------------------------------------------------ */

struct entries *entries_new(int new_dir, const struct entries_options *options,
			    int64_t now, struct err *err)
{
	struct entries *e = calloc(1, sizeof(*e));

	if (!e || table_init(&e->table) < 0) {
		free(e);
		err_set(err, -ENOMEM, "there is no memory for the entries of new");
		return NULL;
	}
	e->dir = new_dir;
	e->settle_ms = options->settle_ms;
	e->ready = options->ready;
	e->any_directory = options->any_directory;
	list_init(&e->all);
	list_init(&e->fresh);
	watch_begin(&e->watch, options->poll_only ? NULL : &watch_system, new_dir,
		    options->poll_ms, now);
	if (entries_update(e, now, err) < 0) {
		entries_free(e);
		return NULL;
	}
	return e;
}

void entries_free(struct entries *e)
{
	if (!e)
		return;
	watch_end(&e->watch);
	table_free(&e->table);
	free(e->waiting.at);
	free(e->complete.at);
	free(e);
}

int entries_fd(const struct entries *e)
{
	return e->watch.fd;
}

int entries_timeout_ms(const struct entries *e, int64_t now)
{
	const struct entry *first = queue_first(&e->waiting);
	int64_t due = e->watch.next_scan;

	if (first)
		due = MIN(due, first->key);
	if (may_examine_fresh(e))
		due = now;
	return due <= now ? 0 : (int)MIN(due - now, 1000000);
}

int entries_update(struct entries *e, int64_t now, struct err *err)
{
	struct change c = { e, now };
	int r = 0;

	watch_read(&e->watch, on_change, &c, now);
	if (watch_is_due(&e->watch, now))
		r = entries_scan(e, now, err);
	examine_due(e, now);
	return r;
}

/* Examines a complete entry again: its last examination may be long ago. */
static bool is_still_complete(struct entries *e, struct entry *x)
{
	struct survey s = { .ask_writers = true };
	int r = survey_take(&s, e->dir, x->name);

	if (r == -ENOENT)
		return false;
	if (r < 0 || s.odd)
		return true;
	if (s.writer == WRITER_OPEN)
		return false;
	if (s.sight.type == S_IFDIR) /* the files in it are examined after the claim */
		return x->unreadable_since ||
		       (x->sight.type == S_IFDIR && x->sight.ino == s.sight.ino);
	return sight_same(&s.sight, &x->sight);
}

const char *entries_next(struct entries *e, int64_t now)
{
	struct entry *x;

	while ((x = queue_first(&e->complete))) {
		if (is_still_complete(e, x))
			return x->name;
		entries_restart(e, x, now);
	}
	return NULL;
}

static void remove_marker(struct entries *e, const char *name)
{
	char marker[NAME_MAX + sizeof(ENTRIES_MARKER)];

	snprintf(marker, sizeof(marker), "%s" ENTRIES_MARKER, name);
	if (e->ready)
		unlinkat(e->dir, marker, 0);
}

int entries_claimed(struct entries *e, const char *name, int at, const char *input,
		    struct err *err)
{
	struct survey s = { .deep = true, .ask_writers = true };
	struct entry *x = table_find(&e->table, name);
	int r = survey_take(&s, at, input);

	r = survey_judge(&s, r, name, err);
	/* the survey of a directory that a rename brought was not deep */
	if (r == 0 && x && !(x->renamed && s.sight.type == S_IFDIR) &&
	    !sight_same_content(&s.sight, &x->sight))
		r = err_set(err, -EBUSY, "%s is still being written", name);
	if (r != -EBUSY && s.sight.type != S_IFDIR)
		remove_marker(e, name);
	if (x)
		entries_forget(e, x);
	return r;
}

void entries_gone(struct entries *e, const char *name)
{
	struct entry *x = table_find(&e->table, name);

	if (x)
		entries_forget(e, x);
}

void entries_returned(struct entries *e, const char *name, int64_t now)
{
	struct entry *x = table_find(&e->table, name);

	if (!x)
		x = entries_add(e, name, now);
	if (!x)
		return;
	entries_restart(e, x, now);
	x->returned = true;
}

void entries_count(const struct entries *e, int64_t now, struct entries_counts *ret)
{
	const struct entry *oldest = list_first(&e->all, struct entry, in_all);

	ret->all = e->table.count;
	ret->complete = e->complete.count;
	ret->oldest_ms = oldest ? now - oldest->seen : 0;
}
