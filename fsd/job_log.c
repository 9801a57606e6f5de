/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's timeline. Its lines are gathered in memory for a moment: none of them
 * is worth a system call while somebody waits for the job itself.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "events.h"
#include "job.h"

#define GATHER_NS (20 * NS_PER_MS)
#define GATHER_BYTES 65536

void job_log_drop(struct job *job)
{
	list_del(&job->unlogged);
	buf_done(&job->log);
}

void job_log_flush(struct job *job)
{
	int r = 0;

	if (job->log.len)
		r = depot_log(job->d->depot, job->meta.no, job->log.data,
			      job->log.len);
	if (r < 0)
		log_warn("job %s: its log cannot be written: %s",
			 job->meta.name, strerror(-r));
	events_flush(job);
	job_log_drop(job);
}

int job_log_open(struct job *job)
{
	struct depot *depot = job->d->depot;
	int r;

	job_log_flush(job);
	r = depot_log_open(depot, job->meta.no);
	/* Before the first line, which may be waited for. */
	if (r == -ENOENT && depot_log(depot, job->meta.no, "", 0) == 0)
		r = depot_log_open(depot, job->meta.no);
	return r;
}

/* Return: true if there are more. */
static bool on_flush(struct turn *t, uint64_t until)
{
	struct fsd *d = container_of(t, struct fsd, log_turn);
	struct job *job;

	while ((job = list_first(&d->unlogged, struct job, unlogged))) {
		job_log_flush(job);
		if (now_ns() >= until)
			return !list_empty(&d->unlogged);
	}
	return false;
}

static void on_gathered(struct loop_timer *timer)
{
	struct fsd *d = timer->arg;

	turn_stop(&d->log_turn);
	d->log_turn.work = on_flush;
	turn_begin(&d->turns, &d->log_turn);
}

void job_log_soon(struct job *job)
{
	struct fsd *d = job->d;

	if (job->removed)
		return;
	if (list_empty(&job->unlogged))
		list_add_tail(&d->unlogged, &job->unlogged);
	if (!d->log_timer.loop) {
		d->log_timer.fn = on_gathered;
		d->log_timer.arg = d;
		loop_timer_set(d->loop, &d->log_timer, GATHER_NS);
	}
}

void job_log(struct job *job, const char *fmt, ...)
{
	char when[32], text[1024];
	va_list ap;

	if (job->removed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	time_render(realtime_ns(), when);
	if (buf_fmt(&job->log, "%s %s\n", when, text) < 0)
		log_warn("job %s: no memory for a line of its log: %s",
			 job->meta.name, text);
	if (job->log.failed || job->log.len > GATHER_BYTES)
		job_log_flush(job);
	else
		job_log_soon(job);
}
