/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's timeline. Its lines are gathered in memory for a moment, because a system call
 * for each line would delay the job.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job_log.h"
#include "jobs_int.h"

#define GATHER_NS (20 * NS_PER_MS)
#define GATHER_BYTES 65536
#define SLICE_NS (2 * NS_PER_MS)

void job_log_drop(struct job *job)
{
	list_del(&job->log.unlogged);
	buf_done(&job->log.lines);
}

void job_lines_take(struct job *job, struct job_lines *ret)
{
	*ret = (struct job_lines){ .no = job->meta.no, .log = job->log.lines };
	job->log.lines = (struct buf){ 0 };
	list_del(&job->log.unlogged);
	events_take(job, &ret->events);
}

void job_lines_store_log(struct store *store, struct job_lines *l)
{
	if (l->log.len)
		l->result = store_log(store, l->no, l->log.data, l->log.len);
	if (l->result == 0)
		buf_done(&l->log);
}

/* Notes the result of the write. Lines that could not be written go before the lines that
 * came meanwhile. */
void job_lines_stored(struct job *job, struct job_lines *l)
{
	if (l->result < 0)
		log_warn("job %s: its log cannot be written: %s",
			 job->meta.name, strerror(-l->result));
	/* lines that could not be written are written again with the next ones */
	if (l->log.len && l->log.len < GATHER_BYTES && !job->removed) {
		if (job->log.lines.len)
			buf_add(&l->log, job->log.lines.data, job->log.lines.len);
		buf_done(&job->log.lines);
		job->log.lines = l->log;
		l->log = (struct buf){ 0 };
	}
	events_stored(job, &l->events);
	job_lines_done(l);
}

void job_lines_done(struct job_lines *l)
{
	buf_done(&l->log);
	buf_done(&l->events.records);
}

struct storing {
	struct store *store;
	struct job_lines lines;
};

/* Stores the events and the lines. On a thread for the disk. */
static int do_store(void *arg)
{
	struct storing *s = arg;

	events_store(s->store, &s->lines.events);
	job_lines_store_log(s->store, &s->lines);
	return 0;
}

/* Stores the gathered lines and waits. The caller has locked the job by job_hold(). */
static void flush(struct job *job)
{
	struct storing s = { .store = job->d->store };

	job_lines_take(job, &s.lines);
	if (s.lines.log.len || s.lines.events.records.len)
		store_do(s.store, do_store, &s);
	job_lines_stored(job, &s.lines);
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
	job->log.flushing = false;
	if (!job->removed)
		flush(job);
}

void job_log_begin(struct job *job)
{
	if (job->removed || job->log.flushing)
		return;
	job->log.flushing = true;
	job_start(job, on_begun);
}

int job_log_open(struct job *job)
{
	struct store *store = job->d->store;
	int r;

	job_log_flush(job);
	r = store_log_open(store, job->meta.no);
	/* makes the file, so that a reader can wait for the first line */
	if (r == -ENOENT && store_log(store, job->meta.no, "", 0) == 0)
		r = store_log_open(store, job->meta.no);
	return r;
}

bool job_log_ends_with(struct job *job, const char *text)
{
	char line[1100];
	auto_close int fd = -1;
	struct stat st;
	ssize_t n;
	char *from;

	job_log_flush(job);
	fd = store_log_open(job->d->store, job->meta.no);
	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	n = pread(fd, line, sizeof(line),
		  MAX(0, st.st_size - (off_t)sizeof(line)));
	if (n <= 0 || line[n - 1] != '\n')
		return false;
	line[n - 1] = '\0';
	from = memrchr(line, '\n', (size_t)n - 1);
	from = strchr(from ? from + 1 : line, ' '); /* the text behind the time, with
						     * which each line begins */
	return from && !strcmp(from + 1, text);
}

static void on_flush(void *arg)
{
	struct log_writer *w = arg;
	uint64_t until = now_ns() + SLICE_NS;
	struct job *job;

	while ((job = list_first(&w->unlogged, struct job, log.unlogged))) {
		list_del(&job->log.unlogged);
		job_ref(job);
		flush_now(job);
		jobs_let_go();
		if (now_ns() >= until && fiber_self()) {
			fiber_breathe();
			until = now_ns() + SLICE_NS;
		}
	}
	w->writing = false;
}

static void on_gathered(struct loop_timer *timer)
{
	struct log_writer *w = timer->arg;

	if (w->writing)
		return;
	w->writing = true;
	fiber_run(on_flush, w);
}

void job_log_soon(struct job *job)
{
	struct log_writer *w;

	if (job->removed)
		return;
	w = &job->d->jobs->log_writer;
	if (list_empty(&job->log.unlogged))
		list_add_tail(&w->unlogged, &job->log.unlogged);
	if (!w->timer.loop) {
		w->timer.fn = on_gathered;
		w->timer.arg = w;
		loop_timer_set(job->d->loop, &w->timer, GATHER_NS);
	}
}

void job_logs_flush(struct fsd *d)
{
	list_for_each(pos, tmp, &d->jobs->log_writer.unlogged)
		job_log_flush(list_entry(pos, struct job, log.unlogged));
}

void log_writer_end(struct log_writer *w)
{
	loop_timer_del(&w->timer);
}

static int __attribute__((format(printf, 2, 0)))
add_line(struct buf *out, const char *fmt, va_list ap)
{
	char when[32], text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	utf8_make_plain(text); /* a name in it may have any bytes */
	time_render(realtime_ns(), when);
	return buf_fmt(out, "%s %s\n", when, text);
}

int job_log_line(struct buf *out, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = add_line(out, fmt, ap);
	va_end(ap);
	return r;
}

static void gathered(struct job *job)
{
	if (job->log.lines.failed || job->log.lines.len > GATHER_BYTES)
		job_log_begin(job);
	else
		job_log_soon(job);
}

void job_log_lines(struct job *job, const struct buf *lines)
{
	if (job->removed || !lines->len)
		return;
	if (buf_add(&job->log.lines, lines->data, lines->len) < 0)
		log_warn("job %s: no memory for lines of its log",
			 job->meta.name);
	gathered(job);
}

void job_log(struct job *job, const char *fmt, ...)
{
	va_list ap;
	int r;

	if (job->removed)
		return;
	va_start(ap, fmt);
	r = add_line(&job->log.lines, fmt, ap);
	va_end(ap);
	if (r < 0)
		log_warn("job %s: no memory for a line of its log",
			 job->meta.name);
	gathered(job);
}
