/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a directory is scanned: by events, and by a timer in case that events are
 * lost or do not exist.
 */
#include "watch.h"

#include <unistd.h>

#include "layout/layout.h"

static bool tells_all(const struct watch *w)
{
	return w->fd >= 0 && !w->events->is_partial;
}

void watch_begin(struct watch *w, const struct watch_events *events, int dir,
		 unsigned poll_ms, int64_t now)
{
	*w = (struct watch){ .events = events, .fd = -1, .poll_ms = poll_ms,
			     .interval_ms = poll_ms, .next_scan = now };
	if (events)
		w->fd = events->open(dir);
	if (w->fd < 0)
		w->fd = -1;
}

void watch_end(struct watch *w)
{
	fd_close(&w->fd);
}

void watch_read(struct watch *w, watch_fn *fn, void *arg, int64_t now)
{
	if (w->fd >= 0 && w->events->read(w->fd, fn, arg))
		w->next_scan = MIN(w->next_scan, MAX(now, w->earliest));
}

bool watch_is_due(const struct watch *w, int64_t now)
{
	return now >= w->next_scan;
}

void watch_scanned(struct watch *w, enum watch_scan result, int64_t cost, int64_t now)
{
	unsigned longest = MAX(w->poll_ms, WATCH_QUIET_MS);

	w->earliest = now + cost * 8;
	if (result != WATCH_SCAN_QUIET)
		w->interval_ms = w->poll_ms;
	w->next_scan = now + (result != WATCH_SCAN_FAILED && tells_all(w)
				      ? WATCH_RESCAN_MS : w->interval_ms);
	w->interval_ms = MIN(w->interval_ms * 2, longest);
}
