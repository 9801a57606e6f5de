/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drain, as `ctl` of .fsd asks for it. The flag stands in struct fsd for this
 * server and in shared memory for the next one. A job that is submitted while the
 * flag is set is refused; a job that was accepted before is run as usual.
 */
#include "drain.h"

#include "fsd/handover/handover.h"
#include "fsd/jobs/leftover.h"
#include "fsd/jobs/lifecycle.h"

struct drain_record {
	uint32_t live; /* 1: the operator has asked for a drain */
};

static HANDOVER_TABLE(drain_records, "drain", 1, struct drain_record, 1);

static struct drain_record *record_of(const struct fsd *d)
{
	return handover_fact(d->handover, &drain_records);
}

void drain_take_over(struct fsd *d)
{
	lifecycle_set_draining(d->lifecycle, record_of(d)->live);
}

static void set_draining(struct fsd *d, bool draining)
{
	lifecycle_set_draining(d->lifecycle, draining);
	record_of(d)->live = draining;
}

void drain_begin(struct fsd *d)
{
	if (!lifecycle_is_draining(d->lifecycle))
		log_info("draining: no new job starts");
	set_draining(d, true);
}

void drain_end(struct fsd *d)
{
	if (!lifecycle_is_draining(d->lifecycle) || lifecycle_is_stopping(d->lifecycle))
		return;
	log_info("resumed");
	set_draining(d, false);
	leftover_go_on(d);
}
