/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by events*.c only. */
#ifndef FSD_EVENT_LOG_INT_H
#define FSD_EVENT_LOG_INT_H

#include "event_log.h"

struct events {
	unsigned run;
	struct buf order;   /* records that are not in the store yet */
	uint64_t stored;    /* bytes of records that are */
	uint64_t time_ms;   /* of the newest record in order */
	uint64_t count[ORDER_MAX]; /* bytes of the streams that it tells of */
	enum job_state state; /* that it told of last; JOB_STATE_MAX: none */
	bool awaits_pid;    /* that it runs is told with the program's pid */
	bool seen;          /* some reader knows what is not in the store */
	bool wanted;        /* some reader waits until it is */
	bool lost;          /* the store took no more: the rest has no order */
	bool has_last;
	struct order_record last; /* what may still grow; not in order */
};

/* What a reader may have seen does not grow any more. */
void events_seal(struct events *e);

#endif
