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
#define SLICE_NS (2 * NS_PER_MS)

void job_log_drop(struct job *job)
{
	list_del(&job->unlogged);
	buf_done(&job->log);
}

/* The job is held. What comes meanwhile is behind what is written. */
static void flush(struct job *job)
{
	struct buf lines = job->log;
	int r = 0;

	job->log = (struct buf){ 0 };
	list_del(&job->unlogged);
	if (lines.len)
		r = depot_log(job->d->depot, job->meta.no, lines.data,
			      lines.len);
	if (r < 0)
		log_warn("job %s: its log cannot be written: %s",
			 job->meta.name, strerror(-r));
	/* Its next line comes with them, when there is room again. */
	if (r < 0 && lines.len < GATHER_BYTES && !job->removed) {
		if (job->log.len)
			buf_add(&lines, job->log.data, job->log.len);
		buf_done(&job->log);
		job->log = lines;
		lines = (struct buf){ 0 };
	}
	buf_done(&lines);
	events_flush(job);
}

static void flush_now(void *arg)
{
	struct job *job = arg;

	job_hold(job);
	if (!job->removed)
		flush(job);
	job_unref(job);
}

static void on_flush_now(void *arg)
{
	flush_now(arg);
	jobs_let_go();
}

void job_log_flush(struct job *job)
{
	job_ref(job);
	if (fiber_self())
		flush_now(job);
	else
		fiber_run(on_flush_now, job);
}

static void on_begun(struct job *job)
{
	job->flushing = false;
	if (!job->removed)
		flush(job);
}

/* There is much of it. Who says so does not wait for it. */
void job_log_begin(struct job *job)
{
	if (job->removed || job->flushing)
		return;
	job->flushing = true;
	job_start(job, on_begun);
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

static void on_flush(void *arg)
{
	struct fsd *d = arg;
	uint64_t until = now_ns() + SLICE_NS;
	struct job *job;

	while ((job = list_first(&d->unlogged, struct job, unlogged))) {
		list_del(&job->unlogged);
		job_ref(job);
		flush_now(job);
		jobs_let_go();
		if (now_ns() >= until && fiber_self()) {
			fiber_breathe();
			until = now_ns() + SLICE_NS;
		}
	}
	d->logging = false;
}

static void on_gathered(struct loop_timer *timer)
{
	struct fsd *d = timer->arg;

	if (d->logging)
		return;
	d->logging = true;
	fiber_run(on_flush, d);
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
		job_log_begin(job);
	else
		job_log_soon(job);
}
