/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs of a sandbox. A session is a seat in which runs wait in line, as long as the
 * sandbox lives; any other program gets a seat for its one run. Each seat that runs a
 * program has a lane of the machine. The seat of a single sandbox has the whole machine,
 * which ends with the interpreter.
 *
 * A run enters by sandbox_enter(), on_next() begins it, and it leaves by sandbox_leave().
 * All functions run on the loop or in a fiber; none waits.
 */
#include "sandbox_int.h"

#include <errno.h>
#include <string.h>

#include "fsd/jobs/job.h"
#include "fsd/run/machine_network.h"
#include "fsd/run/run_network.h"

void seat_free(struct seat *t)
{
	seat_forget(t);
	list_del(&t->node);
	hash_del(&t->sandbox->d->sandboxes->seats_by_no, &t->by_no);
	loop_call_del(&t->next);
	loop_call_del(&t->late);
	if (t->lease && !t->sandbox->single)
		vm_end(take_ptr(t->lease));
	free(t->name);
	free(t);
}

/* Ends the seat's interpreter. A later run gets a new one. */
static void drop_lease(struct seat *t)
{
	struct sandbox *s = t->sandbox;

	if (!t->lease)
		return;
	if (s->single) {
		sandbox_restart(s);
		return;
	}
	vm_end(take_ptr(t->lease));
	t->granted = false;
	t->lease_steps = 0;
	seat_keep(t);
	list_for_each(pos, tmp, &s->seats) { /* others may have waited for a lane */
		struct seat *other = list_entry(pos, struct seat, node);

		if (!list_empty(&other->waiting))
			loop_defer(s->d->loop, &other->next);
	}
}

/* --- its lane ------------------------------------------------------------------- */

static void on_granted(void *arg)
{
	struct seat *t = arg;

	t->granted = true;
	seat_keep(t);
	loop_defer(t->sandbox->d->loop, &t->next);
}

/* Handles a lane that failed while no run had it. If the machine has died, the sandbox
 * gets an event of its own. */
static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	struct seat *t = arg;
	struct run *run = list_first(&t->waiting, struct run, living.in_session);
	bool granted = t->granted;
	char kept[300];

	snprintf(kept, sizeof(kept), "%s", sentence);
	if (!run && t->sandbox->single)
		log_warn("session %s: its machine has died: %s", t->name, kept);
	drop_lease(t);
	if (run && !granted)
		run_events.failed(run, why, kept);
	sandbox_changed(t->sandbox);
}

const struct vm_events seat_events = {
	.granted = on_granted,
	.failed = on_failed,
};

static void tell_full(struct seat *t, const struct run *run)
{
	if (!t->told)
		job_log(run->job, "waits for another program of its sandbox to "
			"end: it has %u already, its sessions included",
			WIRE_LANE_MAX);
	t->told = true;
}

static void ask_for_lane(struct seat *t, struct run *run)
{
	int r = 0;

	if (t->sandbox->single) {
		t->lease = t->sandbox->lease;
		on_granted(t);
		return;
	}
	t->lease = vm_join(t->sandbox->lease, &seat_events, t, &r);
	if (!t->lease && r == -EMFILE)
		tell_full(t, run);
	else if (!t->lease)
		run_events.failed(run, VM_FAILED_START,
				  "its sandbox takes no more programs");
}

/* --- one run after the other ------------------------------------------------------ */

/* Checks again whether the run can be a step of its session: when its job was accepted,
 * the session had no machine yet. */
static int check_step(const struct sandbox *s, struct run *run, struct err *err)
{
	int r = single_check_step(s, run->spec.config, err);

	run->final = r < 0;
	return r;
}

/* Asks for the machine of a single sandbox, with enough memory for the run's inputs.
 * Return: 0, or negative errno with a sentence. */
static int ask_for_machine(struct seat *t, struct run *run, struct err *err)
{
	struct sandbox *s = t->sandbox;

	if (s->build.build || s->slot.user || s->lease)
		return 0; /* the machine was asked for already */
	if (single_may_begin(s, err) == 0)
		return sandbox_queue(s, run_memory_need(run), run_queued_before(run),
				     err);
	if (!t->told)
		job_log(run->job, "waits until its session can begin: %s", err->text);
	t->told = true;
	return 0;
}

/* Does what the first run of a single sandbox needs next, to get its machine. Return:
 * true if the machine lives and the run can begin. */
static bool single_next(struct seat *t, struct run *run)
{
	struct sandbox *s = t->sandbox;
	struct err err = { 0 };
	int r = check_step(s, run, &err);

	if (r == 0)
		r = single_begin(s, run, &err);
	if (r == 0 && !run->vm_job.wire.argv.count && !s->build.build) {
		run_make_ready(run); /* the environment had to be built first */
		return false;
	}
	if (r == 0 && run->inputs.collected && s->stage != STAGE_LIVES)
		r = ask_for_machine(t, run, &err);
	if (r < 0)
		run_no_machine(run, err.text);
	return r == 0 && run->inputs.collected && s->stage == STAGE_LIVES;
}

static bool is_next(struct seat *t, struct run *run)
{
	return t->sandbox->single ? single_next(t, run)
				  : run->inputs.collected &&
					    t->sandbox->stage == STAGE_LIVES;
}

static void begin(struct seat *t, struct run *run)
{
	struct sandbox *s = t->sandbox;

	if (t->name)
		run->living.step = t->steps + 1;
	if (s->single && s->why[0])
		job_log(run->job, "session %s: begun anew, for %s", s->name, s->why);
	if (s->single) {
		s->why[0] = '\0';
		sandbox_keep(s);
	}
	t->told = false;
	if (s->single)
		run_network_join(run, &run_network_hooks, sandbox_network_of(s));
	run_begin(run, t->lease);
}

static void on_next(struct loop_call *c)
{
	struct seat *t = c->arg;
	struct run *run = list_first(&t->waiting, struct run, living.in_session);

	if (t->current)
		return;
	if (!run && !t->name) {
		seat_free(t);
		return;
	}
	if (!run || !is_next(t, run))
		return;
	if (!t->lease) {
		ask_for_lane(t, run);
	} else if (t->granted) {
		list_del(&run->living.in_session);
		t->current = run;
		begin(t, run);
	}
}

void seat_go_on(struct seat *t, unsigned lane, bool aborts)
{
	t->lease = vm_rejoin(t->sandbox->lease, lane, NULL, aborts,
			     &seat_events, t);
	t->granted = t->lease;
	if (!t->lease)
		t->lease_steps = 0;
	seat_keep(t);
}

int seat_go_on_with(struct seat *t, unsigned lane, struct run *run)
{
	t->lease = vm_rejoin(t->sandbox->lease, lane, &run->vm_job, false,
			     &run_events, run);
	if (!t->lease)
		return -ESRCH;
	t->granted = true;
	t->current = run;
	run->lease = t->lease;
	run->living.seat = t;
	list_add_tail(&t->sandbox->runs, &run->living.in_sandbox);
	seat_keep(t);
	return 0;
}

void seats_go(struct sandbox *s)
{
	list_for_each(pos, tmp, &s->seats)
		loop_defer(s->d->loop,
			   &list_entry(pos, struct seat, node)->next);
}

/* Fails the run: the sandbox did not report that its machine died, so only the lane is
 * gone. */
static void on_late(struct loop_call *c)
{
	struct seat *t = c->arg;

	if (t->current)
		run_fail(t->current, VM_FAILED_LOST, t->lost);
}

struct seat *seat_new(struct sandbox *s, uint64_t no, const char *name,
		      const struct lang *lang)
{
	struct seat *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct seat){
		.sandbox = s, .no = no,
		.name = name ? strdup(name) : NULL,
		.lang = name ? lang_living(lang) : lang,
		.next = { .fn = on_next, .arg = t },
		.late = { .fn = on_late, .arg = t },
	};
	list_init(&t->waiting);
	if ((name && !t->name) ||
	    hash_add(&s->d->sandboxes->seats_by_no, &t->by_no,
		     hash_u64(no)) < 0) {
		free(t->name);
		free(t);
		return NULL;
	}
	list_add_tail(&s->seats, &t->node);
	return t;
}

int seat_check_language(const struct seat *t, const struct lang *lang,
			struct err *err)
{
	const struct sandbox *s = t ? t->sandbox : NULL;

	if (t && t->lang != lang_living(lang))
		return err_set(err, -EINVAL,
			       "config.json: \"session\" is \"%s\", which speaks "
			       "%s; this program is %s: use another name, or "
			       "end it by rmdir .fsd/%s%s%s/%s",
			       t->name, t->lang->name,
			       lang ? lang->name : "something else",
			       s->single ? "" : "sandboxes/",
			       s->single ? "" : s->name,
			       s->single ? "sessions" : "/sessions", t->name);
	return 0;
}

static int check(struct sandbox *s, const struct job_config *c,
		 const struct lang *lang, struct err *err)
{
	if (!s)
		return err_set(err, -EINVAL,
			       "config.json: \"sandbox\" is \"%s\", and there is "
			       "none of that name; to make one: mkdir "
			       ".fsd/sandboxes/%s", c->sandbox, c->sandbox);
	if (s->stage == STAGE_LOST)
		return err_set(err, -EINVAL,
			       "config.json: \"sandbox\" is \"%s\", which is "
			       "lost, with all that was in it: %s; make another "
			       "one", c->sandbox, s->why);
	return c->session ? seat_check_language(sandbox_session(s, c->session),
						lang, err)
			  : 0;
}

int sandboxes_check(struct fsd *d, uid_t uid, const struct job_config *c,
		    const struct lang *lang, bool accepted, struct err *err)
{
	struct sandbox *s;
	int r;

	if (!c->sandbox)
		return single_check(d, uid, c, lang, accepted, err);
	s = sandbox_find_own(d, uid, c->sandbox, false);
	r = check(s, c, lang, err);
	if (r == 0 && !accepted)
		r = sandbox_check_pause(s, err);
	if (r < 0 || accepted || s->stage != STAGE_NEW)
		return r;
	return sched_check(d->sched, uid, MIB(s->config.machine.memory_mb),
			   false, err);
}

/* Puts the run into the line. A run that an earlier server had accepted goes before newer
 * runs, although it may enter later. */
static void line_up(struct seat *t, struct run *run)
{
	uint64_t old = run_queued_before(run);

	list_for_each(pos, tmp, &t->waiting) {
		struct run *other = list_entry(pos, struct run, living.in_session);

		if (!old || (run_is_accepted(other) && other->job->meta.queued_no < old))
			continue;
		list_add_tail(pos, &run->living.in_session);
		return;
	}
	list_add_tail(&t->waiting, &run->living.in_session);
}

int sandbox_enter(struct run *run, struct err *err)
{
	const struct job_config *c = run->spec.config;
	uid_t uid = run->job->meta.uid;
	struct sandbox *s;
	struct seat *t;
	int r = sandboxes_check(run->d, uid, c, run->spec.lang, true, err);

	if (r < 0)
		return r;
	s = c->sandbox ? sandbox_find_own(run->d, uid, c->sandbox, false) :
			 single_of(run);
	if (!s)
		return err_sys(err, -ENOMEM, "a session cannot be begun");
	r = !s->single ? sandbox_begin(s, err) :
	    sandbox_is_in_use(s) ? 0 : single_begin(s, run, err);
	if (r < 0 && s->single && list_empty(&s->seats))
		sandbox_drop(s);
	if (r < 0)
		return r;
	t = c->session ? sandbox_session(s, c->session) : NULL;
	if (!t)
		t = seat_new(s, sandboxes_next_no(s->d), c->session,
			     run->spec.lang);
	if (!t)
		return err_sys(err, -ENOMEM, "the sandbox");
	seat_keep_new(t);
	run->living.seat = t;
	line_up(t, run);
	list_add_tail(&s->runs, &run->living.in_sandbox);
	sandbox_used(s);
	sandbox_changed(s);
	return 0;
}

void sandbox_leave(struct run *run)
{
	struct seat *t = take_ptr(run->living.seat);

	if (!t)
		return;
	list_del(&run->living.in_session);
	list_del(&run->living.in_sandbox);
	if (run->vm_job.replay) /* the next run may get this lane at once */
		run->vm_job.replay->lane = 0;
	if (t->current == run) {
		t->current = NULL;
		if (t->sandbox->single && sandbox_network_of(t->sandbox))
			machine_network_listen(sandbox_network_of(t->sandbox), NULL, NULL);
		if (t->name && run->phase == RUN_COMPLETE && run->exit.lives) {
			t->steps = run->living.step;
			t->lease_steps++;
			seat_keep(t);
			vm_hear(t->lease, &seat_events, t);
			if (t->sandbox->single)
				seat_rest(t, run->vm_job.replay);
		} else {
			drop_lease(t);
		}
	}
	run->lease = NULL;
	loop_defer(run->d->loop, &t->next);
	sandbox_used(t->sandbox);
	sandbox_changed(t->sandbox);
}

/* Waits one round of the loop: if the whole machine has died, sandbox_events.failed()
 * comes next, with a better reason. */
bool sandbox_put_off(struct run *run, const char *sentence)
{
	struct seat *t = run->living.seat;

	if (!t || t->current != run || t->sandbox->stage != STAGE_LIVES ||
	    t->sandbox->single)
		return false;
	snprintf(t->lost, sizeof(t->lost), "%s", sentence);
	loop_defer(run->d->loop, &t->late);
	return true;
}

bool sandbox_retry(struct run *run)
{
	struct seat *t = run->living.seat;

	if (!t || t->current != run || run_has_started(run) || !t->lease_steps)
		return false;
	drop_lease(t);
	run_unsend(run);
	t->current = NULL;
	list_add(&t->waiting, &run->living.in_session);
	job_log(run->job, "session %s: its interpreter had ended; begun anew",
		t->name);
	loop_defer(run->d->loop, &t->next);
	return true;
}

/* --- ends -------------------------------------------------------------------------- */

/* Cancels a run. One that is being accepted is not job->run yet: it only leaves its seat,
 * and start.c ends it as cancelled. */
static void cancel(struct run *run, const char *why)
{
	if (run_is_accepted(run)) {
		run_finish(run, STATUS_CANCELLED, why);
		return;
	}
	run->cancelled = true;
	run_fail(run, VM_FAILED_GUEST, why);
	run_collect_stop(run);
	sandbox_leave(run);
}

/* Cancels all runs. Each cancelled run leaves its seat, and so the list s->runs. */
void seats_cancel(struct sandbox *s, const char *why)
{
	struct run *run;

	while ((run = list_first(&s->runs, struct run, living.in_sandbox)))
		cancel(run, why);
}

void seats_fail(struct sandbox *s, enum vm_failure why, const char *sentence)
{
	list_for_each(pos, tmp, &s->runs) {
		struct run *run = list_entry(pos, struct run, living.in_sandbox);

		run_fail(run, run_is_sent(run) || why != VM_FAILED_LOST
				      ? why : VM_FAILED_START, sentence);
		if (!run_is_accepted(run))
			sandbox_leave(run);
	}
	list_for_each(pos, tmp, &s->seats)
		drop_lease(list_entry(pos, struct seat, node));
}

void seat_fail_first(struct sandbox *s, enum vm_failure why, const char *sentence)
{
	struct seat *t = sandbox_seat(s);
	struct run *run = t ? list_first(&t->waiting, struct run, living.in_session) : NULL;

	if (!run)
		return;
	run_fail(run, why, sentence);
	if (!run_is_accepted(run))
		sandbox_leave(run);
}

void seats_forget_lease(struct sandbox *s)
{
	list_for_each(pos, tmp, &s->seats) {
		struct seat *t = list_entry(pos, struct seat, node);

		t->lease = NULL;
		t->granted = false;
		t->lease_steps = 0;
		seat_keep(t);
		seat_forget_rest(t);
	}
}

void seats_free(struct sandbox *s)
{
	list_for_each(pos, tmp, &s->seats)
		seat_free(list_entry(pos, struct seat, node));
}

void seat_end(struct seat *t)
{
	const char *why = "its session was ended";
	struct sandbox *s = t->sandbox;
	struct run *run;

	while ((run = list_first(&t->waiting, struct run, living.in_session)))
		cancel(run, why);
	if (t->current)
		cancel(t->current, why);
	seat_free(t);
	sandbox_changed(s);
}

/* --- finding and listing sessions ----------------------------------------- */

struct seat *sandbox_session(struct sandbox *s, const char *name)
{
	list_for_each(pos, tmp, &s->seats) {
		struct seat *t = list_entry(pos, struct seat, node);

		if (t->name && !strcmp(t->name, name))
			return t;
	}
	return NULL;
}

struct seat *sandbox_session_by_no(struct fsd *d, uint64_t no)
{
	struct hash_node *h = hash_first(&d->sandboxes->seats_by_no,
					 hash_u64(no));

	for (; h; h = hash_next(h)) {
		struct seat *t = container_of(h, struct seat, by_no);

		if (t->no == no && t->name)
			return t;
	}
	return NULL;
}

struct sandbox *seat_sandbox(const struct seat *t)
{
	return t->sandbox;
}

void sandbox_sessions_list(struct sandbox *s,
			   void (*fn)(void *arg, const char *name, uint64_t no),
			   void *arg)
{
	list_for_each(pos, tmp, &s->seats) {
		struct seat *t = list_entry(pos, struct seat, node);

		if (t->name)
			fn(arg, t->name, t->no);
	}
}
