/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by events*.c only. */
#ifndef FSD_EVENTS_INT_H
#define FSD_EVENTS_INT_H

#include "events.h"

#define ORDER_FILE "order"

struct events {
	unsigned run;
	struct buf order;   /* records that are not in the store yet */
	uint64_t stored;    /* bytes of records that are */
	uint64_t time_ms;   /* of the newest record in order */
	bool lost;          /* the store took no more: the rest has no order */
	bool has_last;
	struct order_record last; /* what may still grow; not in order */
};

/* What a reader may have seen does not grow any more. */
void events_seal(struct events *e);

#endif
