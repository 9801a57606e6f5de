/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies the rules of entries.h to one entry: examines it, and decides whether it is
 * complete or when it is examined once more. The decision depends on the two last surveys
 * and their times only.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "entries_int.h"

/* True if the marker FILE.ready exists. */
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

/* Rule 5. An error that may pass, of a server that does not answer say, makes no entry
 * complete. */
static void unreadable(struct entries *e, struct entry *x, int r, int64_t now)
{
	if (!x->unreadable_since)
		x->unreadable_since = now;
	if (survey_is_lasting(r) && now - x->unreadable_since >= ENTRIES_UNREADABLE_MS)
		entries_set_complete(e, x);
	else
		entries_wait(e, x, ENTRY_SLOW, now + MAX(e->settle_ms, 1u));
}

/* Return: when the entry is examined next. The pause grows with the cost of a survey, and
 * with the time that the entry has waited. */
static int64_t next_due(const struct entries *e, const struct entry *x, int64_t cost,
			int64_t now)
{
	int64_t pause = MIN((now - x->since) / 8, WATCH_QUIET_MS);

	return now + MAX(MAX(pause, cost * 8), MAX((int64_t)e->settle_ms, 1));
}

/* Rules 2 to 4, for an entry that has not changed since its last survey. */
static void decide_same(struct entries *e, struct entry *x, const struct survey *s,
			int64_t cost, int64_t now)
{
	int64_t missing = needed_ms(e, s->writer) - (now - x->since);

	if (!s->ask_writers)
		/* an event led here before settle_ms were over */
		entries_wait(e, x, ENTRY_AHEAD, x->since + e->settle_ms);
	else if (s->writer == WRITER_OPEN || !is_marked(e, x, s) || !is_whole(e, s))
		entries_wait(e, x, ENTRY_SLOW, next_due(e, x, cost, now));
	else if (missing > 0)
		entries_wait(e, x, ENTRY_AHEAD, now + missing);
	else
		entries_set_complete(e, x);
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
		entries_set_complete(e, x);
	else if (same)
		decide_same(e, x, s, cost, now);
	else
		entries_wait(e, x, ENTRY_AHEAD, next_due(e, x, cost, now));
}

void entries_examine(struct entries *e, struct entry *x, int64_t ahead)
{
	int64_t begin = entries_clock(), end;
	bool settled = x->sight.type && begin - ahead - x->since >= e->settle_ms;
	struct survey s = { .deep = !x->renamed, .ready = e->ready,
			    .ask_writers = x->renamed || settled };
	int r = survey_take(&s, e->dir, x->name);

	end = entries_clock();
	if (r == -ENOENT)
		entries_forget(e, x);
	else if (r < 0)
		unreadable(e, x, r, end - ahead);
	else
		decide(e, x, &s, end - begin, end - ahead);
}
