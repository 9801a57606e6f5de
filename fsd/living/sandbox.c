/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and ends sandboxes, and gets each its machine: a build of its environment, the
 * scheduler, the lease. Also takes back machines that are idle. Other files have the time
 * of the end (sandbox_time.c), the runs (sandbox_seats.c), the files that users see
 * (sandbox_show.c) and sessions without a sandbox (sandbox_single.c).
 *
 * All functions run on the loop or in a fiber; only sandbox_wait() waits.
 */
#include "sandbox_int.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fsd/base/fiber.h"
#include "fsd/files/guest_inode.h"
#include "fsd/jobs/environments.h"
#include "fsd/jobs/job.h"
#include "fsd/jobs/parsed_config.h"
#include "fsd/users/users.h"
#include "machine_files.h"

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

/* Ends the machine and everything that is tied to it. Open files in it become stale. */
static void drop_machine(struct sandbox *s)
{
	if (s->lease)
		vm_end(take_ptr(s->lease));
	sandbox_network_end(s);
	sandbox_forget_mux(s);
	builds_leave(&s->build);
	sched_leave(&s->slot);
	sched_release(&s->hold);
	environment_unref(take_ptr(s->environment));
	guest_inode_drop(s->d->guest_inodes, s->no);
	guest_inode_drop(s->d->guest_inodes, s->no | GUEST_ROOT);
	if (s->single)
		singles_go(s->d);
}

/* Makes the machine a shared one, in which several programs run. */
static void share_machine(struct sandbox *s)
{
	const struct job_config *c = &s->config.machine;
	const struct vm_share share = {
		.memory_bytes = MIB(c->memory_mb),
		.processes = (uint32_t)c->processes,
		.cpus = (uint32_t)c->cpus,
		.mux = sandbox_keep_mux(s),
	};

	vm_share(s->lease, &share);
}

static void on_granted(void *arg)
{
	struct sandbox *s = arg;
	struct err err = { 0 };

	if (s->stage != STAGE_COMES)
		return;
	if (sandbox_network_begin(s, &err) < 0) {
		sandbox_events.failed(s, VM_FAILED_START, err.text);
		return;
	}
	sandbox_keep_environment(s);
	if (!s->single)
		share_machine(s);
	s->stage = STAGE_LIVES;
	sandbox_keep(s);
	if (s->paused_ns)
		vm_pause(s->lease, true);
	log_info("%s %s of user %u: begun", sandbox_kind(s), s->name, s->uid);
	wake(s, 0);
	seats_go(s);
	sandbox_changed(s);
}

static void set_why(struct sandbox *s, const char *why)
{
	snprintf(s->why, sizeof(s->why), "%s", why);
}

/* Handles that no machine could be started, or that the machine has died. A single
 * sandbox gets another machine at its next step. */
static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	struct sandbox *s = arg;
	bool lived = s->stage == STAGE_LIVES && !s->single;
	char text[400];

	/* Copy the sentence: drop_machine() frees the lease, which owns it. */
	snprintf(text, sizeof(text), "%s%.300s",
		 lived ? "its sandbox is lost: " : "", sentence);
	s->stage = lived ? STAGE_LOST : STAGE_NEW;
	if (lived)
		set_why(s, "its machine has died");
	log_warn("%s %s of user %u: %s: %s", sandbox_kind(s), s->name, s->uid,
		 lived ? "its machine is lost" : "has no machine", sentence);
	if (s->single) {
		single_forget(s);
		seat_fail_first(s, why, text);
		sandbox_restart(s);
		return;
	}
	seats_fail(s, lived ? VM_FAILED_LOST : why, text);
	sandbox_keep(s);
	drop_machine(s);
	wake(s, lived ? -ESTALE : -EIO);
	sandbox_used(s);
	sandbox_changed(s);
}

void sandbox_restart(struct sandbox *s)
{
	s->stage = STAGE_NEW;
	seats_forget_lease(s);
	drop_machine(s);
	seats_go(s);
}

void sandbox_lose(struct sandbox *s, const char *why)
{
	s->stage = STAGE_LOST;
	set_why(s, why);
	sandbox_keep(s); /* otherwise the next server would start a machine for it */
	drop_machine(s);
}

void sandbox_take_back(struct sandbox *s)
{
	const char *why = "another user had waited for its machine, which was not "
			  "in use";

	log_warn("%s %s of user %u: lost: %s", sandbox_kind(s), s->name, s->uid, why);
	if (s->single) {
		set_why(s, why);
		sandbox_restart(s);
		return;
	}
	s->stage = STAGE_LOST;
	seats_fail(s, VM_FAILED_LOST, "its sandbox is lost: another user had "
		   "waited for its machine, which was paused");
	sandbox_lose(s, why);
	wake(s, -ESTALE);
	sandbox_set_times(s);
	sandbox_changed(s);
}

static void each_run(struct sandbox *s,
		     void (*fn)(void *arg, const char *sentence),
		     const char *sentence)
{
	list_for_each(pos, tmp, &s->runs)
		fn(list_entry(pos, struct run, living.in_sandbox), sentence);
}

static void on_waits(void *arg, const char *sentence)
{
	each_run(arg, run_events.waits, sentence);
}

static void on_making(void *arg, const char *sentence)
{
	each_run(arg, run_events.making, sentence);
}

/* Handles the end of the jailer. The next server does not know that a session waited for
 * a machine, so each of its runs fails now. */
static void on_lost_jailer(void *arg)
{
	struct sandbox *s = arg;

	list_for_each(pos, tmp, &s->runs)
		if (s->single)
			run_events.lost_jailer(list_entry(pos, struct run,
							  living.in_sandbox));
}

const struct vm_events sandbox_events = {
	.granted = on_granted,
	.failed = on_failed,
	.waits = on_waits,
	.making = on_making,
	.lost_jailer = on_lost_jailer,
};

/* Return: bytes of memory for the programs and for the heap of the environment. */
static uint64_t memory_of(const struct sandbox *s)
{
	uint64_t need = s->memory;

	return add_checked(&need, s->environment ? s->environment->heap : 0)
		       ? need : UINT64_MAX;
}

static void on_ready(struct sched_slot *slot)
{
	struct sandbox *s = container_of(slot, struct sandbox, slot);
	const struct vm_need need = {
		.runner = s->single ? WIRE_RUN_EXEC : WIRE_RUN_PYTHON,
		.memory_bytes = s->memory,
		.cpus = (unsigned)sandbox_machine(s)->cpus,
		.environment = s->environment,
	};

	sched_join(slot, &s->hold); /* the machine outlives its runs */
	if (s->single)
		sched_leave(slot); /* sandbox_single.c limits the number of sessions
				    * instead */
	s->lease = vm_lease(s->d->vm, &need, &sandbox_events, s);
	if (!s->lease)
		on_failed(s, VM_FAILED_START, "no machine can be asked for");
}

static void say_waits(void *arg, const char *sentence)
{
	struct run *run = arg;

	job_log(run->job, "%s%s", run->living.seat->sandbox->single ? "" : "its sandbox ",
		sentence);
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
	struct sandbox *s = run->living.seat ? run->living.seat->sandbox : NULL;

	if (!s || s->stage != STAGE_COMES)
		return;
	s->slot.told = 0; /* this run has not got the reasons yet */
	s->asks = run;
	builds_tell(s->d->builds, &s->build);
	sched_tell(&s->slot);
	s->asks = NULL;
}

void sandbox_fill_slot(struct sandbox *s, uint64_t memory)
{
	s->memory = memory;
	s->slot = (struct sched_slot){
		.ops = &slot_ops, .uid = s->uid, .memory = memory_of(s),
		.cpus = (unsigned)sandbox_machine(s)->cpus,
	};
}

int sandbox_queue(struct sandbox *s, uint64_t memory, uint64_t old, struct err *err)
{
	int r;

	sandbox_fill_slot(s, memory);
	s->slot.old = old;
	r = sched_check(s->d->sched, s->uid, memory_of(s), true, err);
	if (r == 0) {
		r = sched_enter(s->d->sched, &s->slot);
		if (r < 0)
			err_sys(err, r, "the %s cannot be queued", sandbox_kind(s));
	}
	if (r < 0) {
		s->stage = STAGE_NEW;
		environment_unref(take_ptr(s->environment));
		return r;
	}
	if (r > 0)
		on_ready(&s->slot);
	return s->stage == STAGE_NEW
		       ? err_set(err, -ENOMEM, "no machine can be asked for")
		       : 0;
}

/* Finds the environment and queues the sandbox. A single one is queued later, when the
 * inputs of its first step are listed. */
static int ask_for_machine(struct sandbox *s, struct err *err)
{
	const struct job_config *m = sandbox_machine(s);
	int r = environments_open(s->d, s->uid, m, &s->environment, err);

	if (r < 0)
		return r;
	s->stage = STAGE_COMES;
	return s->single ? 0 : sandbox_queue(s, MIB(m->memory_mb), 0, err);
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
		run_make_ready(list_entry(pos, struct run, living.in_sandbox));
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
	r = builds_take(s->d->builds, s->uid, sandbox_machine(s), &s->build, err);
	if (r > 0)
		s->stage = STAGE_COMES;
	else if (r == 0)
		r = ask_for_machine(s, err);
	if (r < 0)
		return r;
	sandbox_changed(s);
	return 0;
}

/* --- fibers that wait for the machine --------------------------------------------- */

int sandbox_wait(struct sandbox *s, struct sandbox_waiter *w, struct err *err)
{
	int r = 0;

	if (s->stage == STAGE_LOST)
		return -ESTALE;
	r = sandbox_check_pause(s, err);
	if (r == 0 && s->stage == STAGE_NEW)
		r = sched_check(s->d->sched, s->uid,
				MIB(s->config.machine.memory_mb), false, err);
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

/* --- making and ending ---------------------------------------------------- */

void sandbox_drop(struct sandbox *s)
{
	sandbox_forget(s);
	sandbox_unindex(s);
	list_del(&s->node);
	sandbox_times_done(s);
	tell(s);
	seats_free(s);
	drop_machine(s);
	wake(s, -ESTALE);
	list_for_each(pos, tmp, &s->files)
		sandbox_file_del(list_entry(pos, struct sandbox_file, node));
	sandbox_config_done(&s->config);
	parsed_config_unref(s->asked);
	buf_done(&s->text);
	free(s->name);
	free(s);
}

/* Return: a number from the clock, as a counter would show each user how many sessions
 * others begin. It is part of an inode number, whose bits last for nine years of
 * uptime. */
uint64_t sandboxes_next_no(struct fsd *d)
{
	struct sandboxes *all = d->sandboxes;

	return all->last_no = MAX(all->last_no + 1, now_ns() >> 22);
}

void sandboxes_no_taken(struct fsd *d, uint64_t no)
{
	d->sandboxes->last_no = MAX(d->sandboxes->last_no, no);
}

struct sandbox *sandbox_new(struct fsd *d, uint64_t no, const char *name,
			    uid_t uid, gid_t gid, bool single)
{
	struct sandbox *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct sandbox){
		.d = d, .no = no, .name = strdup(name), .uid = uid, .gid = gid,
		.single = single,
	};
	sandbox_times_init(s);
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
	s = sandbox_new(d, sandboxes_next_no(d), name, uid, gid, false);
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
	sandbox_unindex(s); /* first: its name can be used again */
	list_del(&s->node);
	seats_cancel(s, s->single ? "its session was ended" :
				    "its sandbox was ended");
	sandbox_drop(s);
}

void sandboxes_end(struct fsd *d)
{
	if (!d->sandboxes)
		return; /* the server failed at its start */
	list_for_each(pos, tmp, &d->sandboxes->all)
		sandbox_drop(list_entry(pos, struct sandbox, node));
}

int machine_files_ask(const struct machine_files *h, struct wire_fs *fs, vm_fs_done *done,
		      void *arg)
{
	fs->tree = h->tree;
	return sandbox_fs(h->sandbox, fs, done, arg);
}

/* --- idle machines ------------------------------------------------------------ */

bool take_back(void *arg, uid_t uid, uint64_t idle_ns)
{
	struct fsd *d = arg;
	uint64_t oldest = now_ns() - idle_ns;
	struct sandbox *found = NULL;

	list_for_each(pos, tmp, &d->sandboxes->all) {
		struct sandbox *s = list_entry(pos, struct sandbox, node);
		uint64_t since = s->uid == uid ? sandbox_idle_since(s) : 0;

		if (!since || since > oldest)
			continue;
		oldest = since;
		found = s;
	}
	if (found)
		sandbox_take_back(found);
	return found;
}

unsigned kept_machines_in_use(struct fsd *d)
{
	unsigned count = 0;

	list_for_each(pos, tmp, &d->sandboxes->all) {
		const struct sandbox *s = list_entry(pos, struct sandbox, node);

		count += s->hold.sched && !sandbox_idle_since(s);
	}
	return count;
}
