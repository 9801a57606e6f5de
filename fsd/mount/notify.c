/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be told of which job, and when. */
#include "notify_int.h"

#include <errno.h>
#include <string.h>

#include "fsd/handover/inherit.h"
#include "mountpoint.h"
#include "fsd/jobs/lifecycle.h"

/*
 * While a job runs its news are collected for so long: a short one is told of
 * once, when it has ended, and one that writes much does not fill the queues
 * of its watchers.
 */
#define COLLECT_NS (20 * NS_PER_MS)
/*
 * Who has waited for the end reads the results now, and may remove the job
 * next: all of that comes first. What is to be told waits until nobody has
 * asked for anything for so long, but no longer than that.
 */
#define QUIET_NS (NS_PER_MS / 2)
#define PATIENCE_NS (5 * NS_PER_MS)
/* The end of the daemon waits no longer than this for what is left to tell. */
#define FINISH_NS NS_PER_S
/* A job has no more notes than this: who runs one again and again, faster than
 * anybody could be told, gets the news of several runs in one. */
#define NOTES_MAX 16

#define BIT(row) (1u << (row))

/* In the order in which they are told; nothing comes after exit_code. */
static const uint8_t told[] = {
	JOB_ROW_STDOUT, JOB_ROW_STDERR, JOB_ROW_OUTPUT,
	JOB_ROW_RESULT, JOB_ROW_STATE,	JOB_ROW_EXIT_CODE,
};

/* Files that are complete once the job has ended. */
#define FINAL (BIT(JOB_ROW_STDOUT) | BIT(JOB_ROW_STDERR) | \
	       BIT(JOB_ROW_RESULT) | BIT(JOB_ROW_EXIT_CODE))

static unsigned results_of(const struct job *job)
{
	unsigned found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (job_rows[told[i]].result && job_has_row(job, told[i]))
			found |= BIT(told[i]);
	/* In a draft it is what its user has copied there. */
	return job->results.sink ? found & ~BIT(JOB_ROW_OUTPUT) : found;
}

/* --- notes ------------------------------------------------------------------ */

static unsigned count_notes(const struct job *job)
{
	unsigned n = 0;

	list_for_each(pos, tmp, &job->inotify.notes)
		n++;
	return n;
}

/* The newest one, or a new one if rows that it speaks of are gone since then.
 * NULL without memory. */
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

/* known: what watchers had been told when the first of its notes was made. */
static void keep_untold(struct job *job, unsigned known)
{
	uint32_t place;

	if (job->inotify.untold)
		return;
	job->inotify.untold = inherit_add(job->d->inherit, INHERIT_UNTOLD, &place);
	if (!job->inotify.untold)
		return; /* the next server would not tell it */
	job->inotify.untold->known = known;
	job->inotify.untold->job = job->meta.no;
	inherit_publish(&job->inotify.untold->live);
}

static void drop_untold(struct job *job)
{
	if (job->inotify.untold)
		inherit_del(job->d->inherit, INHERIT_UNTOLD,
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
	notify_pump(t->arg);
}

/* Into the queue where it belongs. A queued job is held by a reference. */
static void enqueue(struct notify *n, struct job *job)
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

/* When the first of the jobs that have ended may be told of. */
static uint64_t ready_ns(struct notify *n, const struct job *job)
{
	uint64_t quiet = mountpoint_asked_ns(n->d) + QUIET_NS;

	/* When it is at it, the newest requests are the helper's. */
	if (n->at_it)
		return job->inotify.due_ns;
	return MAX(job->inotify.due_ns, MIN(quiet, job->inotify.due_ns + PATIENCE_NS));
}

/* The one that is next and due, or NULL. */
static struct job *next_job(struct notify *n)
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

/* --- what the helper is to do ------------------------------------------------ */

static void add_step(struct notify_message *m, enum notify_action action,
		     unsigned row)
{
	m->steps[m->count++] = (struct notify_step){
		.action = (uint8_t)action, .row = (uint8_t)row,
	};
}

static void add_steps(struct notify_message *m, const struct note *note,
		      unsigned row)
{
	/* by made, closed, grew; one action for as much as it can tell */
	static const enum notify_action actions[2][2][2] = {
		[0][0] = { NOTIFY_ACTIONS, NOTIFY_GROW },
		[0][1] = { NOTIFY_CLOSE, NOTIFY_END },
		[1][0] = { NOTIFY_MAKE, NOTIFY_MAKE },
		[1][1] = { NOTIFY_WHOLE, NOTIFY_FILLED },
	};
	bool made = note->made & BIT(row), closed = note->closed & BIT(row);
	bool grew = note->grew & BIT(row);
	enum notify_action action = actions[made][closed][grew];

	if (row == JOB_ROW_STATE && closed)
		action = NOTIFY_CHANGE;
	if (row == JOB_ROW_OUTPUT && made)
		action = NOTIFY_MKDIR;
	if (action != NOTIFY_ACTIONS)
		add_step(m, action, row);
	if (action == NOTIFY_MAKE && grew)
		add_step(m, NOTIFY_GROW, row);
}

static void make_message(struct notify *n)
{
	struct notify_message *m = &n->message;

	*m = (struct notify_message){ 0 };
	snprintf(m->job, sizeof(m->job), "%s", n->job->meta.name);
	if (n->note->remove) {
		m->remove = true;
		m->count = 1;
		return;
	}
	/* exit_code is the first to go, as it is the last to come */
	for (size_t i = ARRAY_SIZE(told); i--;)
		if (n->note->gone & BIT(told[i]))
			add_step(m, NOTIFY_UNLINK, told[i]);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		add_steps(m, n->note, told[i]);
}

/* The helper is through with the note, or will never be. */
static void note_done(struct notify *n)
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
	/* It is still there: the table has a reference. */
	if (remove && !jobs_ended(d))
		retain_told(job);
}

void notify_answered(struct notify *n, bool found)
{
	if (!n->note)
		return;
	/* It may have got another name meanwhile. */
	if (!found && !n->job->removed &&
	    strcmp(n->job->meta.name, n->message.job) != 0) {
		notify_lost(n);
		return;
	}
	note_done(n);
}

void notify_lost(struct notify *n)
{
	if (!n->note)
		return;
	if (n->job->removed) {
		note_done(n);
		return;
	}
	n->note->urgent = true; /* it was late already */
	list_add(&n->job->inotify.notes, &n->note->node);
	n->note = NULL;
	enqueue(n, n->job);
	job_unref(take_ptr(n->job));
}

/* r: -ESTALE: there is nobody to tell; else a new helper is told. */
static void not_told(struct notify *n, int r)
{
	if (r == -ESTALE)
		note_done(n);
	else
		notify_lost(n);
}

void notify_not_sent(struct notify *n, int r)
{
	not_told(n, r);
	notify_pump(n);
}

void notify_pump(struct notify *n)
{
	struct job *job;
	int r;

	while (!n->note && notify_link_is_up(n) && (job = next_job(n))) {
		n->job = job_ref(job);
		n->note = list_first(&job->inotify.notes, struct note, node);
		list_del(&n->note->node);
		dequeue(job);
		make_message(n);
		n->at_it = true;
		r = n->message.count ? notify_link_send(n) : -ESTALE;
		if (r < 0)
			not_told(n, r);
	}
	if (n->note)
		return;
	n->at_it = false;
	notify_link_rest(n);
	lifecycle_post_idle(n->d->lifecycle);
}

/* --- what happens to jobs ----------------------------------------------------- */

static void on_known(struct job *job)
{
	job->inotify.announced = results_of(job);
}

static void on_entered(struct job *job)
{
	unsigned now = results_of(job), known = job->inotify.announced;
	bool ended = job->meta.state == JOB_DONE;
	struct notify *n = job->d->notify;
	struct note *note;

	job->inotify.announced = now;
	note = n && !job->removed ? note_of(job, known & ~now) : NULL;
	if (!note)
		return;
	/* output/ goes untold: the kernel takes a directory that was removed for
	 * dead, and it will come again with the same number. */
	note->gone |= known & ~now & ~BIT(JOB_ROW_OUTPUT);
	note->made |= now & ~known;
	note->closed |= BIT(JOB_ROW_STATE) | (ended ? now & FINAL : 0);
	note->urgent |= ended;
	keep_untold(job, known);
	enqueue(n, job);
}

static void on_grew(struct job *job, enum job_row row)
{
	struct notify *n = job->d->notify;
	struct note *note = n && !job->removed ? note_of(job, 0) : NULL;

	if (!note || (note->grew & BIT(row)))
		return;
	note->grew |= BIT(row);
	enqueue(n, job);
}

static void forget_row(struct note *note, enum job_row row)
{
	note->gone &= ~BIT(row);
	note->made &= ~BIT(row);
	note->grew &= ~BIT(row);
	note->closed &= ~BIT(row);
}

void notify_removed(struct job *job, enum job_row row)
{
	struct notify *n = job->d->notify;

	job->inotify.announced &= ~BIT(row);
	list_for_each(pos, tmp, &job->inotify.notes)
		forget_row(list_entry(pos, struct note, node), row);
	if (n && n->note && n->job == job)
		forget_row(n->note, row);
}

static bool on_ask_removal(struct job *job)
{
	struct notify *n = job->d->notify;
	struct note *note;

	if (!n || !notify_link_is_up(n))
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

const struct job_watcher notify_watcher = {
	.known = on_known,
	.entered = on_entered,
	.grew = on_grew,
	.removed = on_removed,
	.ask_removal = on_ask_removal,
};

/* --- the helper's requests ------------------------------------------------------ */

bool notify_is_helper(const struct fsd *d, pid_t pid)
{
	/* 0 is anybody from another pid namespace */
	return d->notify && pid > 0 &&
	       (pid == d->notify->pid || notify_link_was(d->notify, pid));
}

bool notify_is_at(const struct job *job, pid_t pid)
{
	const struct notify *n = job->d->notify;

	return n && pid > 0 && pid == n->pid && n->note && n->job == job;
}

bool notify_grows(const struct job *job, enum job_row row)
{
	const struct notify *n = job->d->notify;
	bool found = false;

	if (!n || !n->note || n->job != job)
		return false;
	for (unsigned i = 0; i < n->message.count; i++)
		found |= n->message.steps[i].action == NOTIFY_GROW &&
			 n->message.steps[i].row == row;
	return found;
}

enum notify_sight notify_sight(const struct job *job, enum job_row row,
			       pid_t pid)
{
	const struct note *note;

	if (!notify_is_at(job, pid))
		return NOTIFY_AS_IT_IS;
	note = job->d->notify->note;
	if (note->gone & BIT(row))
		return NOTIFY_SHOWN;
	if (note->made & BIT(row))
		return NOTIFY_HIDDEN;
	return (note->grew | note->closed) & BIT(row) ? NOTIFY_SHOWN
						      : NOTIFY_AS_IT_IS;
}

/* Once it was made it is not made again, should another helper go on. */
static bool take(unsigned *set, enum job_row row)
{
	bool found = *set & BIT(row);

	*set &= ~BIT(row);
	return found;
}

bool notify_take_made(const struct job *job, enum job_row row, pid_t pid)
{
	return notify_is_at(job, pid) && take(&job->d->notify->note->made, row);
}

bool notify_take_gone(const struct job *job, enum job_row row, pid_t pid)
{
	return notify_is_at(job, pid) && take(&job->d->notify->note->gone, row);
}

/* --- start and end ---------------------------------------------------------------- */

static void on_give_up(struct loop_timer *t)
{
	struct notify *n = t->arg;

	n->gave_up = true;
	lifecycle_post_idle(n->d->lifecycle);
}

bool notify_finish(struct fsd *d)
{
	struct notify *n = d->notify;

	if (!n || n->gave_up || !notify_link_is_up(n) ||
	    (!n->note && list_empty(&n->ready) && list_empty(&n->later)))
		return false;
	if (!n->give_up.loop)
		loop_timer_set(d->loop, &n->give_up, FINISH_NS);
	return true;
}

void notify_new(struct fsd *d)
{
	struct notify *n = calloc(1, sizeof(*n));

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
	d->notify = n;
}

/* Some of it may be told twice: that it was told is known when it was. */
void notify_take_over(struct fsd *d)
{
	uint32_t count = inherit_count(d->inherit, INHERIT_UNTOLD);

	for (uint32_t i = 0; i < count; i++) {
		struct inherit_untold *u =
			inherit_at(d->inherit, INHERIT_UNTOLD, i);
		struct job *job = u ? job_by_no(d, u->job) : NULL;

		if (u && (!job || job->inotify.untold || !d->notify)) {
			u->live = 0;
		} else if (u) {
			job->inotify.untold = u;
			job->inotify.announced = u->known;
			on_entered(job);
		}
	}
	inherit_recycle(d->inherit, INHERIT_UNTOLD);
	if (d->notify)
		notify_link_take_over(d->notify);
}

void notify_start(struct fsd *d)
{
	if (d->notify)
		notify_link_start(d->notify);
}

static void drop_queue(struct list *queue)
{
	struct job *job;

	while ((job = list_first(queue, struct job, inotify.queue)))
		on_removed(job);
}

void notify_free(struct fsd *d)
{
	struct notify *n = take_ptr(d->notify);

	if (!n)
		return;
	notify_link_end(n);
	notify_lost(n);
	loop_timer_del(&n->due);
	loop_timer_del(&n->give_up);
	drop_queue(&n->ready);
	drop_queue(&n->later);
	free(n);
}
