/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by event_log.c and event_log_read.c only. */
#ifndef FSD_EVENT_LOG_INT_H
#define FSD_EVENT_LOG_INT_H

#include "event_log.h"

struct events {
	unsigned run;
	struct buf order;   /* records that are not stored yet */
	uint64_t stored;    /* bytes of stored records */
	uint64_t time_ms;   /* time of the newest record in order */
	uint64_t count[ORDER_MAX]; /* recorded bytes of each stream */
	enum job_state state; /* the last state that was recorded; JOB_STATE_MAX: none */
	bool awaits_pid;    /* events_started() will record `running` */
	bool seen;          /* a reader has seen a record that is not stored */
	bool wanted;        /* a reader waits until records are stored */
	bool lost;          /* a write failed: later events have no order */
	bool has_last;      /* `last` is valid */
	struct order_record last; /* the newest record, which may grow; not in order */
};

/* Ends the growth of `last`, because a reader may have seen it. */
void events_seal(struct events *e);

#endif
