/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pending inotify events: which job has which, and when they are sent to the
 * helper. Owns struct note, and the two queues of jobs. All functions run on
 * the loop.
 */
#include "inotify_int.h"

#include <errno.h>
#include <string.h>

#include "fsd/handover/handover.h"
#include "mountpoint.h"
#include "fsd/jobs/lifecycle.h"

/*
 * While a job runs its events are collected for this time. So a short job
 * causes one note, at its end, and one that writes much does not fill its
 * watchers' queues.
 */
#define COLLECT_NS (20 * NS_PER_MS)
/*
 * Events of an ended job wait until no request has come for QUIET_NS, at most
 * PATIENCE_NS: users who waited for the end now read the results and may remove
 * the job, which must come first.
 */
#define QUIET_NS (NS_PER_MS / 2)
#define PATIENCE_NS (5 * NS_PER_MS)
/* Longest wait at the server's end for notes to be sent. */
#define FINISH_NS NS_PER_S
/* Most notes of a job. If it is run again and again, faster than events can be
 * sent, several runs share a note. */
#define NOTES_MAX 16

/* A job with events that its watchers have not got yet, for the next server. */
struct untold_record {
	uint32_t live;
	uint32_t known;  /* a set of 1 << virtual file: the results that watchers know of */
	uint64_t job;
};

static HANDOVER_TABLE(untold_records, "untold", 1, struct untold_record, 1u << 20);

#define BIT(vfile) (1u << (vfile))

/* The order of events; exit_code must be last. */
static const uint8_t told[] = {
	JOB_VFILE_STDOUT, JOB_VFILE_STDERR, JOB_VFILE_OUTPUT,
	JOB_VFILE_RESULT, JOB_VFILE_STATE,	JOB_VFILE_EXIT_CODE,
};

/* Files that are complete once the job has ended. */
#define FINAL (BIT(JOB_VFILE_STDOUT) | BIT(JOB_VFILE_STDERR) | \
	       BIT(JOB_VFILE_RESULT) | BIT(JOB_VFILE_EXIT_CODE))

static unsigned results_of(const struct job *job)
{
	unsigned found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (job_vfiles[told[i]].result && job_has_vfile(job, told[i]))
			found |= BIT(told[i]);
	/* a draft's output/ has only copies of its user */
	return job->results.sink ? found & ~BIT(JOB_VFILE_OUTPUT) : found;
}

/* --- notes ------------------------------------------------------------------ */

static unsigned count_notes(const struct job *job)
{
	unsigned n = 0;

	list_for_each(pos, tmp, &job->inotify.notes)
		n++;
	return n;
}

/* Returns the job's newest note, or a new one if files that it lists have
 * disappeared since. NULL without memory. */
static struct note *note_of(struct job *job, unsigned gone)
{
	struct note *note = NULL;

	if (!list_empty(&job->inotify.notes))
		note = list_entry(job->inotify.notes.prev, struct note, node);
	if (note && !note->remove &&
	    !((note->made | note->grew | note->closed) & gone))
		return note;
	if (note && !note->remove && count_notes(job) >= NOTES_MAX)
		return note;
	note = calloc(1, sizeof(*note));
	if (!note) {
		log_warn("job %s: no memory to tell of its changes",
			 job->meta.name);
		return NULL;
	}
	list_add_tail(&job->inotify.notes, &note->node);
	return note;
}

/* Stores for the next server that events are pending. known: the files that
 * watchers knew when the first note was made. */
static void keep_untold(struct job *job, unsigned known)
{
	uint32_t place;

	if (job->inotify.untold)
		return;
	job->inotify.untold = handover_add(job->d->handover, &untold_records, &place);
	if (!job->inotify.untold)
		return; /* no record: the next server does not send these events */
	job->inotify.untold->known = known;
	job->inotify.untold->job = job->meta.no;
	handover_publish(&job->inotify.untold->live);
}

static void drop_untold(struct job *job)
{
	if (job->inotify.untold)
		handover_del(job->d->handover, &untold_records,
			    take_ptr(job->inotify.untold));
}

static void drop_notes(struct job *job)
{
	drop_untold(job);
	list_for_each(pos, tmp, &job->inotify.notes) {
		list_del(pos);
		free(list_entry(pos, struct note, node));
	}
}

static bool has_urgent(const struct job *job)
{
	list_for_each(pos, tmp, &job->inotify.notes)
		if (list_entry(pos, struct note, node)->urgent)
			return true;
	return false;
}

/* --- queues ----------------------------------------------------------------- */

static void on_due(struct loop_timer *t)
{
	inotify_pump(t->arg);
}

/* Puts a job into its queue. The queue owns a reference to it. */
static void enqueue(struct inotify *n, struct job *job)
{
	bool urgent = has_urgent(job), queued = !list_empty(&job->inotify.queue);
	uint64_t after = urgent ? QUIET_NS : COLLECT_NS, now = now_ns();

	if (queued && (!urgent || job->inotify.urgent))
		return;
	if (!queued)
		job_ref(job);
	list_del(&job->inotify.queue);
	list_add_tail(urgent ? &n->ready : &n->later, &job->inotify.queue);
	job->inotify.urgent = urgent;
	job->inotify.due_ns = now + after;
	if (!n->due.loop || n->due.at_ns > job->inotify.due_ns)
		loop_timer_set(n->d->loop, &n->due, after);
}

static void dequeue(struct job *job)
{
	if (list_empty(&job->inotify.queue))
		return;
	list_del(&job->inotify.queue);
	job_unref(job);
}

/* Returns when events of the first ended job may be sent. */
static uint64_t ready_ns(struct inotify *n, const struct job *job)
{
	uint64_t quiet = mountpoint_asked_ns(n->d) + QUIET_NS;

	/* while notes are being sent, the latest requests are the helper's */
	if (n->at_it)
		return job->inotify.due_ns;
	return MAX(job->inotify.due_ns, MIN(quiet, job->inotify.due_ns + PATIENCE_NS));
}

/* Returns the next job that is due, or NULL. */
static struct job *next_job(struct inotify *n)
{
	struct job *ready = list_first(&n->ready, struct job, inotify.queue);
	struct job *later = list_first(&n->later, struct job, inotify.queue);
	uint64_t now = now_ns(), at = UINT64_MAX;

	if (ready)
		at = ready_ns(n, ready);
	if (at <= now)
		return ready;
	if (later && later->inotify.due_ns <= now)
		return later;
	if (later)
		at = MIN(at, later->inotify.due_ns);
	if (at != UINT64_MAX)
		loop_timer_set(n->d->loop, &n->due, at - now);
	return NULL;
}

/* --- steps of the helper ------------------------------------------------ */

static void add_step(struct inotify_message *m, enum inotify_action action,
		     unsigned vfile)
{
	m->steps[m->count++] = (struct inotify_step){
		.action = (uint8_t)action, .vfile = (uint8_t)vfile,
	};
}

static void add_steps(struct inotify_message *m, const struct note *note,
		      unsigned vfile)
{
	/* The action that causes the events of a note, by made, closed, grew; INOTIFY_ACTIONS:
	 * none. */
	static const enum inotify_action actions[2][2][2] = {
		[0][0] = { INOTIFY_ACTIONS, INOTIFY_GROW },
		[0][1] = { INOTIFY_CLOSE, INOTIFY_END },
		[1][0] = { INOTIFY_MAKE, INOTIFY_MAKE },
		[1][1] = { INOTIFY_WHOLE, INOTIFY_FILLED },
	};
	bool made = note->made & BIT(vfile), closed = note->closed & BIT(vfile);
	bool grew = note->grew & BIT(vfile);
	enum inotify_action action = actions[made][closed][grew];

	if (vfile == JOB_VFILE_STATE && closed)
		action = INOTIFY_CHANGE;
	if (vfile == JOB_VFILE_OUTPUT && made)
		action = INOTIFY_MKDIR;
	if (action != INOTIFY_ACTIONS)
		add_step(m, action, vfile);
	if (action == INOTIFY_MAKE && grew)
		add_step(m, INOTIFY_GROW, vfile);
}

static void make_message(struct inotify *n)
{
	struct inotify_message *m = &n->message;

	*m = (struct inotify_message){ 0 };
	snprintf(m->job, sizeof(m->job), "%s", n->job->meta.name);
	if (n->note->remove) {
		m->remove = true;
		m->count = 1;
		return;
	}
	/* reverse order: exit_code disappears first */
	for (size_t i = ARRAY_SIZE(told); i--;)
		if (n->note->gone & BIT(told[i]))
			add_step(m, INOTIFY_UNLINK, told[i]);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		add_steps(m, n->note, told[i]);
}

/* Ends a note: the helper has done it, or never will. */
static void note_done(struct inotify *n)
{
	struct job *job = take_ptr(n->job);
	bool remove = n->note->remove;
	struct fsd *d = n->d;

	free(take_ptr(n->note));
	if (job->removed)
		drop_notes(job);
	else if (!list_empty(&job->inotify.notes))
		enqueue(n, job);
	else
		drop_untold(job);
	remove = remove && !job->removed;
	job_unref(job);
	/* the table of jobs still has a reference */
	if (remove && !jobs_ended(d))
		retain_told(job);
}

void inotify_answered(struct inotify *n, bool found)
{
	if (!n->note)
		return;
	/* The job may have been renamed meanwhile. */
	if (!found && !n->job->removed &&
	    strcmp(n->job->meta.name, n->message.job) != 0) {
		inotify_lost(n);
		return;
	}
	note_done(n);
}

void inotify_lost(struct inotify *n)
{
	if (!n->note)
		return;
	if (n->job->removed) {
		note_done(n);
		return;
	}
	n->note->urgent = true; /* do not wait again: it is late already */
	list_add(&n->job->inotify.notes, &n->note->node);
	n->note = NULL;
	enqueue(n, n->job);
	job_unref(take_ptr(n->job));
}

/* Handles a note that was not sent. r: -ESTALE: there is no mount any more;
 * else a new helper will get it. */
static void not_told(struct inotify *n, int r)
{
	if (r == -ESTALE)
		note_done(n);
	else
		inotify_lost(n);
}

void inotify_not_sent(struct inotify *n, int r)
{
	not_told(n, r);
	inotify_pump(n);
}

void inotify_pump(struct inotify *n)
{
	struct job *job;
	int r;

	while (!n->note && inotify_link_is_up(n) && (job = next_job(n))) {
		n->job = job_ref(job);
		n->note = list_first(&job->inotify.notes, struct note, node);
		list_del(&n->note->node);
		dequeue(job);
		make_message(n);
		n->at_it = true;
		r = n->message.count ? inotify_link_send(n) : -ESTALE;
		if (r < 0)
			not_told(n, r);
	}
	if (n->note)
		return;
	n->at_it = false;
	inotify_link_rest(n);
	lifecycle_post_idle(n->d->lifecycle);
}

/* --- changes of jobs ---------------------------------------------------- */

static void on_known(struct job *job)
{
	job->inotify.announced = results_of(job);
}

static void on_entered(struct job *job)
{
	unsigned now = results_of(job), known = job->inotify.announced;
	bool ended = job->meta.state == JOB_DONE;
	struct inotify *n = job->d->inotify;
	struct note *note;

	job->inotify.announced = now;
	note = n && !job->removed ? note_of(job, known & ~now) : NULL;
	if (!note)
		return;
	/* Not for output/: the kernel takes a removed directory as dead, and output/
	 * comes back with the same number. */
	note->gone |= known & ~now & ~BIT(JOB_VFILE_OUTPUT);
	note->made |= now & ~known;
	note->closed |= BIT(JOB_VFILE_STATE) | (ended ? now & FINAL : 0);
	note->urgent |= ended;
	keep_untold(job, known);
	enqueue(n, job);
}

static void on_grew(struct job *job, enum job_vfile vfile)
{
	struct inotify *n = job->d->inotify;
	struct note *note = n && !job->removed ? note_of(job, 0) : NULL;

	if (!note || (note->grew & BIT(vfile)))
		return;
	note->grew |= BIT(vfile);
	enqueue(n, job);
}

static void forget_row(struct note *note, enum job_vfile vfile)
{
	note->gone &= ~BIT(vfile);
	note->made &= ~BIT(vfile);
	note->grew &= ~BIT(vfile);
	note->closed &= ~BIT(vfile);
}

void inotify_removed(struct job *job, enum job_vfile vfile)
{
	struct inotify *n = job->d->inotify;

	job->inotify.announced &= ~BIT(vfile);
	list_for_each(pos, tmp, &job->inotify.notes)
		forget_row(list_entry(pos, struct note, node), vfile);
	if (n && n->note && n->job == job)
		forget_row(n->note, vfile);
}

static bool on_ask_removal(struct job *job)
{
	struct inotify *n = job->d->inotify;
	struct note *note;

	if (!n || !inotify_link_is_up(n))
		return false;
	note = calloc(1, sizeof(*note));
	if (!note)
		return false;
	note->remove = note->urgent = true;
	list_add_tail(&job->inotify.notes, &note->node);
	enqueue(n, job);
	return true;
}

static void on_removed(struct job *job)
{
	drop_notes(job);
	dequeue(job);
}

const struct job_watcher inotify_watcher = {
	.known = on_known,
	.entered = on_entered,
	.grew = on_grew,
	.removed = on_removed,
	.ask_removal = on_ask_removal,
};

/* --- the helper's requests ------------------------------------------------------ */

bool inotify_is_helper(const struct fsd *d, pid_t pid)
{
	/* pid 0: a process of another pid namespace */
	return d->inotify && pid > 0 &&
	       (pid == d->inotify->pid || inotify_link_was(d->inotify, pid));
}

bool inotify_is_at(const struct job *job, pid_t pid)
{
	const struct inotify *n = job->d->inotify;

	return n && pid > 0 && pid == n->pid && n->note && n->job == job;
}

bool inotify_grows(const struct job *job, enum job_vfile vfile)
{
	const struct inotify *n = job->d->inotify;
	bool found = false;

	if (!n || !n->note || n->job != job)
		return false;
	for (unsigned i = 0; i < n->message.count; i++)
		found |= n->message.steps[i].action == INOTIFY_GROW &&
			 n->message.steps[i].vfile == vfile;
	return found;
}

enum inotify_sight inotify_sight(const struct job *job, enum job_vfile vfile,
				 pid_t pid)
{
	const struct note *note;

	if (!inotify_is_at(job, pid))
		return INOTIFY_AS_IT_IS;
	note = job->d->inotify->note;
	if (note->gone & BIT(vfile))
		return INOTIFY_SHOWN;
	if (note->made & BIT(vfile))
		return INOTIFY_HIDDEN;
	return (note->grew | note->closed) & BIT(vfile) ? INOTIFY_SHOWN
						      : INOTIFY_AS_IT_IS;
}

/* Takes a step out of the set, so that another helper does not repeat it. */
static bool take(unsigned *set, enum job_vfile vfile)
{
	bool found = *set & BIT(vfile);

	*set &= ~BIT(vfile);
	return found;
}

bool inotify_take_made(const struct job *job, enum job_vfile vfile, pid_t pid)
{
	return inotify_is_at(job, pid) && take(&job->d->inotify->note->made, vfile);
}

bool inotify_take_gone(const struct job *job, enum job_vfile vfile, pid_t pid)
{
	return inotify_is_at(job, pid) && take(&job->d->inotify->note->gone, vfile);
}

/* --- start and end ---------------------------------------------------------------- */

static void on_give_up(struct loop_timer *t)
{
	struct inotify *n = t->arg;

	n->gave_up = true;
	lifecycle_post_idle(n->d->lifecycle);
}

bool inotify_finish(struct fsd *d)
{
	struct inotify *n = d->inotify;

	if (!n || n->gave_up || !inotify_link_is_up(n) ||
	    (!n->note && list_empty(&n->ready) && list_empty(&n->later)))
		return false;
	if (!n->give_up.loop)
		loop_timer_set(d->loop, &n->give_up, FINISH_NS);
	return true;
}

void inotify_new(struct fsd *d)
{
	struct inotify *n = calloc(1, sizeof(*n));

	if (!n) {
		log_warn("no memory: watchers (inotify) are not told of "
			 "results");
		return;
	}
	n->d = d;
	n->sock = n->pidfd = -1;
	list_init(&n->ready);
	list_init(&n->later);
	n->due.fn = on_due;
	n->give_up.fn = on_give_up;
	n->due.arg = n->give_up.arg = n;
	d->inotify = n;
}

/* Continues with the events that the previous server had pending. Some may be sent twice:
 * a note is dropped only after it was sent. */
void inotify_take_over(struct fsd *d)
{
	struct untold_record *u;

	for (uint32_t i = 0; (u = handover_next(d->handover, &untold_records, &i)); ) {
		struct job *job = job_by_no(d, u->job);

		if (!job || job->inotify.untold || !d->inotify) {
			u->live = 0;
		} else {
			job->inotify.untold = u;
			job->inotify.announced = u->known;
			on_entered(job);
		}
	}
	handover_recycle(d->handover, &untold_records);
	if (d->inotify)
		inotify_link_take_over(d->inotify);
}

void inotify_start(struct fsd *d)
{
	if (d->inotify)
		inotify_link_start(d->inotify);
}

static void drop_queue(struct list *queue)
{
	struct job *job;

	while ((job = list_first(queue, struct job, inotify.queue)))
		on_removed(job);
}

void inotify_free(struct fsd *d)
{
	struct inotify *n = take_ptr(d->inotify);

	if (!n)
		return;
	inotify_link_end(n);
	inotify_lost(n);
	loop_timer_del(&n->due);
	loop_timer_del(&n->give_up);
	drop_queue(&n->ready);
	drop_queue(&n->later);
	free(n);
}
