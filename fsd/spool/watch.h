/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches one directory: when to scan it, and which names in it have changed.
 *
 * An event is a hint. A directory is scanned at the start, when events were lost, and
 * every WATCH_RESCAN_MS. Where another host may change it without an event, it is scanned
 * after poll_ms; this time doubles up to WATCH_QUIET_MS as long as scans find nothing new.
 *
 *   watch_timer.c     decides when to scan
 *   watch_inotify.c   the events of Linux: names, and whether a rename brought them
 *   watch_kqueue.c    the events of FreeBSD, NetBSD and macOS: the directory changed
 * The Makefile chooses one of the last two, which defines watch_system.
 */
#ifndef FSD_SPOOL_WATCH_H
#define FSD_SPOOL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define WATCH_RESCAN_MS 60000
#define WATCH_QUIET_MS 10000

enum watch_change {
	WATCH_CHANGED, /* the entry was made, closed by a writer, or got other
		        * attributes */
	WATCH_RENAMED, /* a rename brought the entry, perhaps over another one */
	WATCH_REMOVED, /* the name was removed or renamed; another entry may have that
		        * name now */
};

typedef void watch_fn(void *arg, const char *name, enum watch_change change);

struct watch_events {
	/* Return: a descriptor that is readable when there are events; or negative errno,
	 * -EREMOTE: there may be changes without one. */
	int (*open)(int dir);
	/* Reads all events that are there. Return: true if the directory must be
	 * scanned. */
	bool (*read)(int fd, watch_fn *fn, void *arg);
	/* Other hosts' changes make no event, and open() cannot tell where. */
	bool is_partial;
};

extern const struct watch_events watch_system;

enum watch_scan {
	WATCH_SCAN_FOUND, /* entries that were not known */
	WATCH_SCAN_QUIET,
	WATCH_SCAN_FAILED,
};

struct watch {
	const struct watch_events *events; /* NULL: none */
	int fd;                            /* owned; -1 without events */
	unsigned poll_ms, interval_ms;
	int64_t next_scan;                 /* milliseconds of CLOCK_MONOTONIC */
	int64_t earliest;                  /* events set next_scan to no earlier time */
};

/* events: NULL to scan by time only. It also does that if open() fails. */
void watch_begin(struct watch *w, const struct watch_events *events, int dir,
		 unsigned poll_ms, int64_t now);
void watch_end(struct watch *w);
/* Reads events; calls fn for each name. */
void watch_read(struct watch *w, watch_fn *fn, void *arg, int64_t now);
bool watch_is_due(const struct watch *w, int64_t now);
/* Call it when a scan that took cost milliseconds has ended at `now`. Scans take at most
 * an eighth of the time, however many events come. */
void watch_scanned(struct watch *w, enum watch_scan result, int64_t cost, int64_t now);

#endif
