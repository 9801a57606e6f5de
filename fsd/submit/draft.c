/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times the lines of draft.h. All drafts wait equally long, so one list holds them in the
 * order in which they are due, and one timer serves the first. look() runs in a fiber
 * that holds the job.
 */
#include "draft_int.h"
#include "submit_state_int.h"

#include "fsd/store/meta_copy.h"

#define QUIET_NS NS_PER_S
#define SLICE_NS (2 * NS_PER_MS)

/* Notes for the next server that the timer is armed, or not. */
static void keep(struct job *job, bool due)
{
	struct job_record *k = job->meta.copy;

	if (k)
		k->due = due;
}

bool draft_is_due(const struct job_meta *meta)
{
	return meta->copy && meta->copy->due && meta->state == JOB_DRAFT;
}

static bool is_silent(const struct job *job)
{
	return job->removed || job->submit.later || job->meta.state != JOB_DRAFT ||
	       job_name_is_draft(job->meta.name);
}

/* Writes what the draft waits for to its log. In a fiber that holds the job. A line that
 * the log already ends with is not repeated; an earlier server may have written it. */
static void look(struct job *job)
{
	auto_buf struct buf text = { .cap = 900 };

	if (is_silent(job))
		return;
	node_load_all(job->files);
	draft_text(job, &text);
	if (text.len)
		utf8_make_plain(text.data); /* the log stores its lines in this form */
	if (text.len && !is_silent(job) && !job_log_ends_with(job, text.data))
		job_log(job, "%s", text.data);
}

static void on_quiet(struct loop_timer *t)
{
	struct submit *s = t->arg;
	uint64_t until = now_ns() + SLICE_NS, now;
	struct job *job;

	while ((job = list_first(&s->drafts, struct job, submit.draft))) {
		now = now_ns();
		if (job->submit.draft_ns > now || now >= until) {
			loop_timer_set(s->d->loop, t, job->submit.draft_ns -
						   MIN(now, job->submit.draft_ns));
			return;
		}
		list_del(&job->submit.draft);
		keep(job, false);
		if (!is_silent(job))
			job_start(job, look);
	}
}

void draft_changed(struct job *job)
{
	struct submit *s = job->d->submit;

	if (is_silent(job))
		return;
	list_del(&job->submit.draft);
	list_add_tail(&s->drafts, &job->submit.draft);
	job->submit.draft_ns = now_ns() + QUIET_NS;
	keep(job, true);
	if (s->quiet.loop)
		return;
	s->quiet.fn = on_quiet;
	s->quiet.arg = s;
	loop_timer_set(s->d->loop, &s->quiet, QUIET_NS);
}
