/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox from its making to its end: its machine, and its time. The runs in it
 * are in sandbox_seats.c, what its files say is in sandbox_show.c.
 */
#include "sandbox_int.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fsd/base/fiber.h"
#include "fsd/files/remote.h"
#include "fsd/jobs/environments.h"
#include "fsd/jobs/job.h"
#include "fsd/users/people.h"

/* --- its time ------------------------------------------------------------------ */

/* Moves the end by as long as the pause took. A sandbox that was paused by its end
 * gets its whole life again, or no end if it has no life. */
static void go_on_living(struct sandbox *s, uint64_t now)
{
	uint64_t life = s->config.life_ms * NS_PER_MS;

	s->until_ns += now - MIN(s->paused_ns, now);
	if (s->config.pauses && s->until_ns <= now)
		s->until_ns = life ? now + life : 0;
}

static void set_paused(struct sandbox *s, bool pause)
{
	uint64_t now = realtime_ns();

	if (!s->paused_ns == !pause)
		return;
	if (!pause && s->until_ns)
		go_on_living(s, now);
	s->paused_ns = pause ? now : 0;
	s->used_ns = now_ns();
	sandbox_set_times(s);
	if (s->stage == STAGE_LIVES)
		vm_pause(s->lease, pause);
	log_info("sandbox %s of user %u: %s", s->name, s->uid,
		 pause ? "paused" : "goes on");
	sandbox_changed(s);
}

/* When it ends, or is paused; 0: never. */
static uint64_t due_ns(const struct sandbox *s)
{
	uint64_t most = s->config.pause_life_ms * NS_PER_MS;

	if (!s->paused_ns)
		return s->until_ns;
	return most ? s->paused_ns + most : 0;
}

static void on_until(struct loop_timer *t)
{
	struct sandbox *s = t->arg;

	if (realtime_ns() < due_ns(s)) {
		sandbox_set_times(s); /* the clock was set */
		return;
	}
	log_debug("sandbox %s: its time is over", s->name);
	if (s->config.pauses && s->stage != STAGE_LOST && !s->paused_ns)
		set_paused(s, true);
	else
		sandbox_end(s);
}

static void on_idle(struct loop_timer *t)
{
	struct sandbox *s = t->arg;

	log_debug("sandbox %s: ended after %" PRIu64 " s without use", s->name,
		  s->config.idle_ms / 1000);
	sandbox_end(s);
}

static bool is_in_use(const struct sandbox *s)
{
	return !list_empty(&s->runs) || !list_empty(&s->waiters);
}

static void set_idle(struct sandbox *s)
{
	if (!s->config.idle_ms || s->paused_ns || is_in_use(s))
		loop_timer_del(&s->idle);
	else
		loop_timer_set(s->d->loop, &s->idle,
			       s->config.idle_ms * NS_PER_MS);
}

/* A clock that is set is seen within the hour. */
#define LOOK_NS (3600 * NS_PER_S)

void sandbox_end_at(struct sandbox *s, uint64_t until_ns)
{
	uint64_t waited = s->paused_ns ? realtime_ns() - s->paused_ns : 0;

	s->until_ns = until_ns ? until_ns - MIN(waited, until_ns - 1) : 0;
}

void sandbox_set_times(struct sandbox *s)
{
	uint64_t now = realtime_ns(), due = due_ns(s);

	if (due)
		loop_timer_set(s->d->loop, &s->until,
			       MIN(due - MIN(due, now), LOOK_NS));
	else
		loop_timer_del(&s->until);
	set_idle(s);
	sandbox_keep(s);
}

void sandbox_used(struct sandbox *s)
{
	s->used_ns = now_ns();
	set_idle(s);
}

/* --- its state ------------------------------------------------------------------ */

void sandbox_watch(struct sandbox *s, struct list *node,
		   void (*told)(struct list *node))
{
	list_del(node);
	s->told = told;
	list_add_tail(&s->watchers, node);
}

static void tell(struct sandbox *s)
{
	list_for_each(pos, tmp, &s->watchers) {
		list_del(pos);
		s->told(pos);
	}
}

void sandbox_changed(struct sandbox *s)
{
	if (sandbox_state_no(s) == s->told_state)
		return;
	s->told_state = sandbox_state_no(s);
	tell(s);
}

/* --- its machine ---------------------------------------------------------------- */

static void wake(struct sandbox *s, int result)
{
	struct sandbox_waiter *w;

	while ((w = list_first(&s->waiters, struct sandbox_waiter, node))) {
		list_del(&w->node);
		w->result = result;
		fiber_wake(w->fiber);
	}
}

/* Files that were opened in it are stale. */
static void drop_machine(struct sandbox *s)
{
	if (s->lease)
		vm_end(take_ptr(s->lease));
	sandbox_forget_mux(s);
	builds_leave(&s->build);
	sched_leave(&s->slot);
	sched_release(&s->hold);
	environment_unref(take_ptr(s->environment));
	remote_drop(s->d->remotes, s->no);
	remote_drop(s->d->remotes, s->no | REMOTE_ROOT);
}

static void on_granted(void *arg)
{
	struct sandbox *s = arg;
	const struct job_config *c = &s->config.machine;
	struct vm_share share = {
		.memory_bytes = MIB(c->memory_mb),
		.processes = (uint32_t)c->processes,
		.cpus = (uint32_t)c->cpus,
	};

	if (s->stage != STAGE_COMES)
		return;
	share.mux = sandbox_keep_mux(s);
	vm_share(s->lease, &share);
	s->stage = STAGE_LIVES;
	sandbox_keep(s);
	if (s->paused_ns)
		vm_pause(s->lease, true);
	log_info("sandbox %s of user %u: begun", s->name, s->uid);
	wake(s, 0);
	seats_go(s);
	sandbox_changed(s);
}

static void set_why(struct sandbox *s, const char *why)
{
	snprintf(s->why, sizeof(s->why), "%s", why);
}

/* No machine could be had, or it has died. */
static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	struct sandbox *s = arg;
	bool lived = s->stage == STAGE_LIVES;
	char text[400];

	/* The sentence is the lease's. */
	snprintf(text, sizeof(text), "%s%.300s",
		 lived ? "its sandbox is lost: " : "", sentence);
	s->stage = lived ? STAGE_LOST : STAGE_NEW;
	if (lived)
		set_why(s, "its machine has died");
	log_warn("sandbox %s of user %u: %s: %s", s->name, s->uid,
		 lived ? "its machine is lost" : "has no machine", sentence);
	seats_fail(s, lived ? VM_FAILED_LOST : why, text);
	sandbox_keep(s);
	drop_machine(s);
	wake(s, lived ? -ESTALE : -EIO);
	sandbox_used(s);
	sandbox_changed(s);
}

void sandbox_lose(struct sandbox *s, const char *why)
{
	s->stage = STAGE_LOST;
	set_why(s, why);
	sandbox_keep(s); /* or it would be new for the next server */
	drop_machine(s);
}

uint64_t sandbox_idle_since(const struct sandbox *s)
{
	return s->stage == STAGE_LIVES && (s->paused_ns || !is_in_use(s))
		       ? s->used_ns : 0;
}

void sandbox_take_back(struct sandbox *s)
{
	const char *why = "another user had waited for its machine, which was not "
			  "in use";

	log_warn("sandbox %s of user %u: lost: %s", s->name, s->uid, why);
	s->stage = STAGE_LOST;
	seats_fail(s, VM_FAILED_LOST, "its sandbox is lost: another user had "
		   "waited for its machine, which was paused");
	sandbox_lose(s, why);
	wake(s, -ESTALE);
	set_idle(s);
	sandbox_changed(s);
}

static void each_run(struct sandbox *s,
		     void (*fn)(void *arg, const char *sentence),
		     const char *sentence)
{
	list_for_each(pos, tmp, &s->runs)
		fn(list_entry(pos, struct run, in_sandbox), sentence);
}

static void on_waits(void *arg, const char *sentence)
{
	each_run(arg, run_events.waits, sentence);
}

static void on_making(void *arg, const char *sentence)
{
	each_run(arg, run_events.making, sentence);
}

const struct vm_events sandbox_events = {
	.granted = on_granted,
	.failed = on_failed,
	.waits = on_waits,
	.making = on_making,
};

static uint64_t memory_of(const struct sandbox *s)
{
	uint64_t need = MIB(s->config.machine.memory_mb);

	return add_checked(&need, s->environment ? s->environment->heap : 0)
		       ? need : UINT64_MAX;
}

static void on_ready(struct sched_slot *slot)
{
	struct sandbox *s = container_of(slot, struct sandbox, slot);
	const struct vm_need need = {
		.runner = WIRE_RUN_PYTHON,
		.memory_bytes = MIB(s->config.machine.memory_mb),
		.cpus = (unsigned)s->config.machine.cpus,
		.environment = s->environment,
	};

	sched_join(slot, &s->hold); /* no run's end gives it back */
	s->lease = vm_lease(s->d->vm, &need, &sandbox_events, s);
	if (!s->lease)
		on_failed(s, VM_FAILED_START, "no machine can be asked for");
}

static void say_waits(void *arg, const char *sentence)
{
	struct run *run = arg;

	job_log(run->job, "its sandbox %s", sentence);
}

static void tell_waits(struct sandbox *s, const char *sentence)
{
	if (s->asks)
		say_waits(s->asks, sentence);
	else
		each_run(s, say_waits, sentence);
}

static void on_tell(struct sched_slot *slot, const char *sentence)
{
	tell_waits(container_of(slot, struct sandbox, slot), sentence);
}

static void on_builds(struct build_wait *w, const char *sentence)
{
	tell_waits(container_of(w, struct sandbox, build), sentence);
}

static const struct sched_slot_ops slot_ops = {
	.ready = on_ready,
	.tell = on_tell,
};

void sandbox_tell(struct run *run)
{
	struct sandbox *s = run->seat ? run->seat->sandbox : NULL;

	if (!s || s->stage != STAGE_COMES)
		return;
	s->slot.told = 0; /* not to this one */
	s->asks = run;
	builds_tell(s->d->builds, &s->build);
	sched_tell(&s->slot);
	s->asks = NULL;
}

bool sandbox_is_built(const struct run *run)
{
	return run->seat->sandbox->build.build;
}

void sandbox_fill_slot(struct sandbox *s)
{
	s->slot = (struct sched_slot){
		.ops = &slot_ops, .uid = s->uid, .memory = memory_of(s),
		.cpus = (unsigned)s->config.machine.cpus,
	};
}

static int ask_for_machine(struct sandbox *s, struct err *err)
{
	int r = environments_open(s->d, s->uid, &s->config.machine,
				  &s->environment, err);

	if (r < 0)
		return r;
	sandbox_fill_slot(s);
	s->stage = STAGE_COMES;
	r = sched_enter(s->d->sched, &s->slot);
	if (r < 0) {
		s->stage = STAGE_NEW;
		environment_unref(take_ptr(s->environment));
		return err_sys(err, r, "the sandbox cannot be queued");
	}
	if (r > 0)
		on_ready(&s->slot);
	return s->stage == STAGE_NEW
		       ? err_set(err, -ENOMEM, "no machine can be asked for")
		       : 0;
}

static void on_built(struct build_wait *w, const char *why)
{
	struct sandbox *s = container_of(w, struct sandbox, build);
	struct err err = { 0 };

	if (why || ask_for_machine(s, &err) < 0) {
		on_failed(s, VM_FAILED_GUEST, why ? why : err.text);
		return;
	}
	sched_tell(&s->slot);
	list_for_each(pos, tmp, &s->runs)
		run_make_ready(list_entry(pos, struct run, in_sandbox));
}

static const struct build_wait_ops build_ops = {
	.tell = on_builds,
	.done = on_built,
};

int sandbox_begin(struct sandbox *s, struct err *err)
{
	int r;

	if (s->stage != STAGE_NEW)
		return 0;
	s->build.ops = &build_ops;
	r = builds_take(s->d->builds, s->uid, &s->config.machine, &s->build, err);
	if (r > 0)
		s->stage = STAGE_COMES;
	else if (r == 0)
		r = ask_for_machine(s, err);
	if (r < 0)
		return r;
	sandbox_changed(s);
	return 0;
}

/* --- its pauses --------------------------------------------------------------------- */

int sandbox_check_pause(const struct sandbox *s, struct err *err)
{
	return s->paused_ns ? err_set(err, -EAGAIN,
				   "sandbox \"%s\" is paused; `echo resume > "
				   ".fsd/sandboxes/%s/ctl` goes on with it",
				   s->name, s->name)
			 : 0;
}

int sandbox_control(struct sandbox *s, const char *text, size_t len,
		    struct err *err)
{
	static const struct {
		const char *verb;
		bool pause;
	} verbs[] = { { "pause", true }, { "resume", false } };

	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	if (s->stage == STAGE_LOST)
		return err_set(err, -ESTALE, "sandbox \"%s\" is lost: %s",
			       s->name, s->why);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (len == strlen(verbs[i].verb) &&
		    !memcmp(text, verbs[i].verb, len)) {
			set_paused(s, verbs[i].pause);
			return 0;
		}
	return err_set(err, -EINVAL,
		       "ctl of a sandbox takes \"pause\" and \"resume\"");
}

/* --- who waits for it ------------------------------------------------------------- */

bool sandbox_is_there(const struct sandbox *s)
{
	return s->stage == STAGE_LIVES;
}

int sandbox_wait(struct sandbox *s, struct sandbox_waiter *w, struct err *err)
{
	int r = 0;

	if (s->stage == STAGE_LOST)
		return -ESTALE;
	r = sandbox_check_pause(s, err);
	if (r == 0 && s->stage == STAGE_NEW)
		r = sched_check(s->d->sched, s->uid, memory_of(s), false, err);
	if (r == 0)
		r = sandbox_begin(s, err);
	if (r < 0)
		return r;
	if (s->stage == STAGE_LIVES)
		return 0;
	w->fiber = fiber_self();
	if (!w->fiber)
		return -EIO;
	list_add_tail(&s->waiters, &w->node);
	sandbox_used(s);
	fiber_pause();
	return w->result;
}

void sandbox_stop_waiting(struct sandbox_waiter *w)
{
	if (list_empty(&w->node))
		return;
	list_del(&w->node);
	w->result = -EINTR;
	fiber_wake(w->fiber);
}

int sandbox_fs(struct sandbox *s, const struct wire_fs *fs, vm_fs_done *done,
	       void *arg)
{
	int r = s->stage != STAGE_LIVES ? -ESTALE : s->paused_ns ? -EAGAIN
		: vm_fs(s->lease, fs, done, arg);

	if (r == 0)
		sandbox_used(s);
	return r;
}

/* --- making and ending --------------------------------------------------------------- */

void sandbox_drop(struct sandbox *s)
{
	sandbox_forget(s);
	sandbox_unindex(s);
	list_del(&s->node);
	loop_timer_del(&s->until);
	loop_timer_del(&s->idle);
	tell(s);
	seats_free(s);
	drop_machine(s);
	wake(s, -ESTALE);
	list_for_each(pos, tmp, &s->files)
		sandbox_file_del(list_entry(pos, struct sandbox_file, node));
	sandbox_config_done(&s->config);
	buf_done(&s->text);
	free(s->name);
	free(s);
}

struct sandbox *sandbox_new(struct fsd *d, uint64_t no, const char *name,
			    uid_t uid, gid_t gid)
{
	struct sandbox *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct sandbox){
		.d = d, .no = no, .name = strdup(name), .uid = uid, .gid = gid,
		.until = { .fn = on_until, .arg = s },
		.idle = { .fn = on_idle, .arg = s },
	};
	list_init(&s->files);
	list_init(&s->seats);
	list_init(&s->runs);
	list_init(&s->waiters);
	list_init(&s->watchers);
	if (!s->name || sandbox_index(s) < 0) {
		free(s->name);
		free(s);
		return NULL;
	}
	list_add_tail(&d->sandboxes->all, &s->node);
	return s;
}

int sandbox_make(struct fsd *d, const char *name, uid_t uid, gid_t gid,
		 struct sandbox **ret, struct err *err)
{
	struct sandbox *s;
	int r;

	if (sandboxes_of(d, uid) >= LIMIT_SANDBOXES)
		return err_set(err, -EDQUOT,
			       "you have %u sandboxes already, as many as one "
			       "user may have; end one by rmdir "
			       ".fsd/sandboxes/NAME", LIMIT_SANDBOXES);
	s = sandbox_new(d, sessions_next_no(d), name, uid, gid);
	if (!s)
		return err_sys(err, -ENOMEM, "a sandbox cannot be made");
	s->made_ns = realtime_ns();
	r = sandbox_configure(s, "{}\n", 3, err);
	if (r < 0) {
		sandbox_drop(s);
		return r;
	}
	s->told_state = sandbox_state_no(s);
	sandbox_keep_new(s);
	*ret = s;
	return 0;
}

void sandbox_end(struct sandbox *s)
{
	sandbox_unindex(s); /* its name is free */
	list_del(&s->node);
	seats_cancel(s, "its sandbox was ended");
	sandbox_drop(s);
}

void sandboxes_end(struct fsd *d)
{
	if (!d->sandboxes)
		return; /* the server never began */
	list_for_each(pos, tmp, &d->sandboxes->all)
		sandbox_drop(list_entry(pos, struct sandbox, node));
}
