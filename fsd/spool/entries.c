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

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "entries_int.h"

#define AHEAD 4096
#define EXAMINE_MOST 500 /* entries for each update */

/* --- adding and forgetting --------------------------------------------------- */

struct entry *entries_add(struct entries *e, const char *name, int64_t now)
{
	struct entry *x;

	if (queue_reserve(&e->waiting, e->table.count + 1) < 0 ||
	    queue_reserve(&e->complete, e->table.count + 1) < 0)
		return NULL;
	x = table_add(&e->table, name);
	if (!x)
		return NULL;
	x->order = ++e->last_order;
	x->seen = now;
	x->scan = e->scan;
	list_add_tail(&e->all, &x->in_all);
	list_add_tail(&e->fresh, &x->in_fresh);
	return x;
}

static void unqueue(struct entries *e, struct entry *x)
{
	if (x->state == ENTRY_FRESH)
		list_del(&x->in_fresh);
	else
		queue_remove(x->state == ENTRY_COMPLETE ? &e->complete : &e->waiting, x);
	if (x->state == ENTRY_AHEAD)
		e->ahead--;
}

void entries_forget(struct entries *e, struct entry *x)
{
	unqueue(e, x);
	list_del(&x->in_all);
	table_remove(&e->table, x);
}

/* Examines it at `due`. */
static void wait_until(struct entries *e, struct entry *x, enum entry_state state,
		       int64_t due)
{
	unqueue(e, x);
	x->state = state;
	if (state == ENTRY_AHEAD)
		e->ahead++;
	x->key = due;
	queue_add(&e->waiting, x);
}

static void set_complete(struct entries *e, struct entry *x)
{
	unqueue(e, x);
	x->state = ENTRY_COMPLETE;
	x->key = 0;
	queue_add(&e->complete, x);
}

/* Rule 2 or 3 begins anew. */
static void restart(struct entries *e, struct entry *x, int64_t now)
{
	x->renamed = false;
	x->sight.type = 0;
	wait_until(e, x, ENTRY_AHEAD, now);
}

/* --- examining one ------------------------------------------------------------ */

static int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* FILE.ready is there. */
static bool has_marker(const struct entries *e, const char *name)
{
	char marker[NAME_MAX + sizeof(ENTRIES_MARKER)];
	struct stat st;

	snprintf(marker, sizeof(marker), "%s" ENTRIES_MARKER, name);
	return fstatat(e->dir, marker, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_marked(const struct entries *e, const struct entry *x,
		      const struct survey *s)
{
	return !e->ready || s->has_ready ||
	       (s->sight.type == S_IFREG && has_marker(e, x->name));
}

static bool is_whole(const struct entries *e, const struct survey *s)
{
	return s->sight.type != S_IFDIR || s->has_code || e->any_directory;
}

static unsigned needed_ms(const struct entries *e, enum writer writer)
{
	if (writer == WRITER_NONE || e->ready)
		return e->settle_ms;
	return MAX(e->settle_ms, ENTRIES_NO_LEASE_MS);
}

/* Rule 5. */
static void unreadable(struct entries *e, struct entry *x, int64_t now)
{
	if (!x->unreadable_since)
		x->unreadable_since = now;
	if (now - x->unreadable_since >= ENTRIES_UNREADABLE_MS)
		set_complete(e, x);
	else
		wait_until(e, x, ENTRY_SLOW, now + MAX(e->settle_ms, 1u));
}

/* A large tree is not walked all the time, nor an entry that waits for long. */
static int64_t next_due(const struct entries *e, const struct entry *x, int64_t cost,
			int64_t now)
{
	int64_t pause = MIN((now - x->since) / 8, WATCH_QUIET_MS);

	return now + MAX(MAX(pause, cost * 8), MAX((int64_t)e->settle_ms, 1));
}

/* Rules 2 to 4: it is the same as before. */
static void decide_settled(struct entries *e, struct entry *x, const struct survey *s,
			   int64_t cost, int64_t now)
{
	int64_t missing = needed_ms(e, s->writer) - (now - x->since);

	if (s->writer == WRITER_OPEN || !is_marked(e, x, s) || !is_whole(e, s))
		wait_until(e, x, ENTRY_SLOW, next_due(e, x, cost, now));
	else if (missing > 0)
		wait_until(e, x, ENTRY_AHEAD, now + missing);
	else
		set_complete(e, x);
}

/* Decides by a survey that took cost milliseconds and ended at now. */
static void decide(struct entries *e, struct entry *x, const struct survey *s,
		   int64_t cost, int64_t now)
{
	bool same = sight_same(&x->sight, &s->sight);
	bool is_odd = s->odd && s->sight.type != S_IFDIR;

	x->unreadable_since = 0;
	if (!same) {
		x->since = now;
		x->sight = s->sight;
	}
	if (is_odd || (x->renamed && s->writer != WRITER_OPEN && is_marked(e, x, s)))
		set_complete(e, x);
	else if (same)
		decide_settled(e, x, s, cost, now);
	else
		wait_until(e, x, ENTRY_AHEAD, next_due(e, x, cost, now));
}

/* ahead: of the caller's clock that of clock_ms() is. */
static void examine(struct entries *e, struct entry *x, int64_t ahead)
{
	int64_t begin = clock_ms(), end;
	bool settled = x->sight.type && begin - ahead - x->since >= e->settle_ms;
	struct survey s = { .deep = !x->renamed, .ready = e->ready,
			    .ask_writers = x->renamed || settled };
	int r = survey_take(&s, e->dir, x->name);

	end = clock_ms();
	if (r == -ENOENT)
		entries_forget(e, x);
	else if (r < 0)
		unreadable(e, x, end - ahead);
	else
		decide(e, x, &s, end - begin, end - ahead);
}

static bool may_examine_fresh(const struct entries *e)
{
	return !list_empty(&e->fresh) && e->ahead + e->complete.count < AHEAD;
}

/* In turns, so that slow entries delay no fresh ones. */
static void examine_due(struct entries *e, int64_t now)
{
	int64_t ahead = clock_ms() - now;

	for (int n = 0; n < EXAMINE_MOST; n++) {
		struct entry *x = queue_first(&e->waiting);

		if (!x || x->key > now || (n % 2 && may_examine_fresh(e))) {
			if (!may_examine_fresh(e))
				break;
			x = list_first(&e->fresh, struct entry, in_fresh);
		}
		examine(e, x, ahead);
	}
}

/* --- events -------------------------------------------------------------------- */

struct change {
	struct entries *e;
	int64_t now;
};

static void marker_changed(struct entries *e, const char *name, int64_t now)
{
	char file[NAME_MAX + 1];
	size_t len = strlen(name), end = strlen(ENTRIES_MARKER);
	struct entry *x;

	if (len <= end || len > NAME_MAX || strcmp(name + len - end, ENTRIES_MARKER) != 0)
		return;
	snprintf(file, sizeof(file), "%.*s", (int)(len - end), name);
	x = table_find(&e->table, file);
	if (x && x->state == ENTRY_SLOW)
		wait_until(e, x, ENTRY_AHEAD, now);
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
		wait_until(e, x, ENTRY_AHEAD, c->now);
	} else if (change == WATCH_REMOVED) {
		restart(e, x, c->now);
	} else if (x->state == ENTRY_AHEAD || x->state == ENTRY_SLOW) {
		wait_until(e, x, x->state, c->now);
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

/* It was examined before, maybe long ago: no process had time to claim it. */
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
	if (s.sight.type == S_IFDIR)
		return x->sight.type == S_IFDIR && x->sight.ino == s.sight.ino;
	return sight_same(&s.sight, &x->sight);
}

const char *entries_next(struct entries *e, int64_t now)
{
	struct entry *x;

	while ((x = queue_first(&e->complete))) {
		if (is_still_complete(e, x))
			return x->name;
		restart(e, x, now);
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
	restart(e, x, now);
	x->returned = true;
}

void entries_count(const struct entries *e, int64_t now, struct entries_counts *ret)
{
	const struct entry *oldest = list_first(&e->all, struct entry, in_all);

	ret->all = e->table.count;
	ret->complete = e->complete.count;
	ret->oldest_ms = oldest ? now - oldest->seen : 0;
}
