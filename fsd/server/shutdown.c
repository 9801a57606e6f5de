/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a server: stop, with or without the running jobs, and the handover
 * to another server. Both wait until no run needs this server any more. Lower
 * rooms call lifecycle_post_idle() when a run ends or when all inotify events
 * were sent; on_idle() then checks the counts, outside of the code that ended
 * the run.
 * Owns d->lifecycle. All functions run on the loop, except on_refused().
 */
#include "shutdown.h"

#include <string.h>
#include <unistd.h>

#include "fsd/handover/handover.h"
#include "supervisor.h"
#include "fsd/jobs/job.h"
#include "fsd/mount/inotify.h"
#include "fsd/run/run.h"
#include "fsd/run/runs.h"
#include "fsd/jobs/lifecycle.h"

/* Returns the number of runs that must end before a handover. Runs without a
 * timeout do not count. After the end of the jailer adopted runs do not count
 * either: they continue in the next server, and this one can begin no others. */
static unsigned waited_for(const struct fsd *d)
{
	const struct run_counts *c = runs_counts(d->runs);

	return c->busy - c->endless -
	       (lifecycle_is_broken(d->lifecycle) ? c->adopted : 0);
}

static void interrupt_endless(struct fsd *d)
{
	list_for_each(pos, tmp, jobs_all(d)) {
		struct job *job = list_entry(pos, struct job, all);

		if (run_is_endless(job))
			run_interrupt(job);
	}
}

void shutdown_stop(struct fsd *d, bool now)
{
	const struct run_counts *c = runs_counts(d->runs);
	unsigned busy = c->busy - c->endless;

	lifecycle_stop(d->lifecycle);
	/* no other server will start them */
	if (lifecycle_is_broken(d->lifecycle))
		list_for_each(pos, tmp, jobs_all(d))
			run_stop_without_jailer(list_entry(pos, struct job, all));
	if (!now && busy) {
		log_info("stopping when %u running job%s ended; queued ones "
			 "(%u) are run by the next fsd mount", busy,
			 busy == 1 ? " has" : "s have",
			 c->running - MIN(c->busy, c->running));
		return;
	}
	if (!now && c->endless) {
		interrupt_endless(d);
		return;
	}
	if (now)
		list_for_each(pos, tmp, jobs_all(d))
			run_interrupt(list_entry(pos, struct job, all));
	if (now || !inotify_finish(d))
		loop_quit(d->loop);
}

void shutdown_hand_over(struct fsd *d, bool now)
{
	unsigned busy = waited_for(d);

	if (lifecycle_is_stopping(d->lifecycle))
		return;
	lifecycle_hand_over(d->lifecycle);
	if (now || !busy)
		loop_quit(d->loop);
	else
		log_info("another server takes over when %u running job%s "
			 "ended", busy, busy == 1 ? " has" : "s have");
}

static void on_idle(void *arg)
{
	struct fsd *d = arg;
	const struct run_counts *c = runs_counts(d->runs);

	if (lifecycle_is_handing_over(d->lifecycle) && !waited_for(d))
		loop_quit(d->loop);
	if (lifecycle_is_stopping(d->lifecycle) && c->endless &&
	    c->busy == c->endless)
		interrupt_endless(d);
	if (lifecycle_is_stopping(d->lifecycle) && !c->busy && !inotify_finish(d))
		loop_quit(d->loop);
}

/* --- a disk that refuses records --------------------------------------------- */

#define REFUSED_WITHIN_NS (60 * NS_PER_S)
#define REFUSALS 3u

struct disk_record {
	uint32_t live;
	uint32_t refused, read_only; /* refused: errno of the last refusal; read_only: 1
				      * after too many refusals */
	/* When the disk ended servers, the last time first: now_ns(). */
	uint64_t refused_ns[REFUSALS];
};

static HANDOVER_TABLE(disk_records, "disk", 1, struct disk_record, 1);

static struct disk_record *disk_of(const struct fsd *d)
{
	return handover_fact(d->handover, &disk_records);
}

#define READ_ONLY "the disk of the state directory refuses records of jobs (%s): " \
		  "no job begins and nothing can be written; when it is repaired, " \
		  "fsd upgrade --now or a new mount writes again"

/* Handles a refused record; any thread. Ends the process at once, in the middle
 * of other threads' work. */
static void on_refused(void *arg, int error)
{
	struct fsd *d = arg;
	struct disk_record *k = disk_of(d);

	log_error("%s: the disk refuses the record of a job: %s; another server shows "
		  "what the disk has", store_dir(d->store), strerror(error));
	k->refused = (uint32_t)error;
	memmove(&k->refused_ns[1], &k->refused_ns[0],
		sizeof(k->refused_ns) - sizeof(k->refused_ns[0]));
	k->refused_ns[0] = now_ns();
	handover_publish(&k->live);
	_exit(SUPERVISOR_NEXT);
}

void shutdown_heed_disk(struct fsd *d)
{
	struct disk_record *k = disk_of(d);
	uint64_t first = k->refused_ns[REFUSALS - 1];
	char why[400];

	if (first && now_ns() - first < REFUSED_WITHIN_NS)
		k->read_only = 1;
	if (!k->read_only) {
		store_on_refusal(d->store, on_refused, d);
		return;
	}
	snprintf(why, sizeof(why), READ_ONLY, strerror((int)k->refused));
	log_error("%s: %s", store_dir(d->store), why);
	store_set_read_only(d->store, why);
}

void shutdown_trust_disk(struct fsd *d)
{
	memset(disk_of(d), 0, sizeof(struct disk_record));
}

int shutdown_init(struct fsd *d)
{
	return lifecycle_new(d->loop, on_idle, d, &d->lifecycle);
}
