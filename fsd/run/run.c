/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsd/store/depot_calls.h"
#include "fsd/jobs/event.h"
#include "fsd/jobs/events.h"
#include "fsd/jobs/job_watch.h"
#include "fsd/jobs/leftover.h"
#include "fsd/jobs/parsed.h"
#include "fsd/jobs/statistics.h"
#include "run_int.h"
#include "fsd/jobs/lifecycle.h"

/* Inputs are collected for so long before it is the others' turn. */
#define COLLECT_NS (NS_PER_MS)

void run_spec_done(struct run_spec *spec)
{
	parsed_unref(spec->parsed);
	*spec = (struct run_spec){ 0 };
}

void run_leave(struct run *run)
{
	if (run->session)
		sessions_leave(run);
	else if (run->seat)
		sandbox_leave(run);
	else if (run->lease)
		vm_end(take_ptr(run->lease));
	sched_release(&run->slot.hold);
}

void run_free(struct run *run)
{
	if (!run)
		return;
	loop_timer_del(&run->timer);
	feed_free(run);
	run_leave(run);
	run_tape_end(run);
	builds_leave(&run->build);
	sched_leave(&run->slot);
	run_enter(run, RUN_GONE);
	lifecycle_post_idle(run->d->lifecycle);
	run_unprepare(run);
	run_output_done(run);
	arena_done(&run->texts);
	for (int i = 0; i < VM_STREAM_MAX; i++)
		fd_close(&run->stream[i].fd);
	buf_done(&run->guest_json);
	run_flow_done(run);
	job_lines_done(&run->lines);
	free(run->end.name);
	buf_done(&run->end.late);
	if (run->spec.code)
		node_unref(run->spec.code);
	free(run->end.attempts);
	free(run->end.attempts_text);
	free(run->environment_id);
	free(run->fresh_why);
	run_spec_done(&run->spec);
	free(run);
}

/* --- starting ----------------------------------------------------------- */

struct run *run_new(struct job *job, struct run_spec *spec, unsigned number)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run) {
		run_spec_done(spec);
		return NULL;
	}
	run->job = job;
	run->d = job->d;
	run->number = number;
	run->why = RUN_NOT_FAILED;
	run->spec = *spec;
	*spec = (struct run_spec){ 0 };
	if (run->spec.code)
		node_ref(run->spec.code); /* it may be removed meanwhile */
	run->file_fd = run->feed_in = -1;
	run->guest_json.cap = LIMIT_VALUE_BYTES;
	for (int i = 0; i < VM_STREAM_MAX; i++)
		run->stream[i] = (struct run_stream){ .fd = -1 };
	run->stream[VM_OUT].limit = run->spec.config->stdout_limit;
	run->stream[VM_ERR].limit = run->spec.config->stderr_limit;
	run->stream[VM_RESULT].limit = WIRE_SHOWN_MAX;
	run->queued_ns = now_ns();
	return run;
}

/* Half a minute is long for who knows not why. */
static void tell_if_first(struct run *run)
{
	uint32_t mib, cpus;
	char making[256];

	if (!vm_lease_is_first(run->lease, &mib, &cpus))
		return;
	run->making_ns = now_ns();
	vm_making(run->lease, making, sizeof(making));
	if (run->environment) {
		run_tell_making(run, making);
		return;
	}
	job_log(run->job, "waits for the template of machines for up to %u MiB "
		"(memory_mb) and %u processor%s, which is made once: %s", mib,
		cpus, cpus == 1 ? "" : "s", making);
}

static int lease(struct run *run, struct err *err)
{
	struct vm_need need = {
		.runner = run->vm_job.wire.runner,
		.memory_bytes = run_memory_need(run),
		.cpus = run->vm_job.wire.cpus,
		.environment = run->environment,
	};

	run_note_environment(run);
	if (run->seat) {
		sandbox_go(run);
		return 0;
	}
	if (run->spec.config->session)
		return sessions_join(run, err);
	run->lease = vm_lease(run->d->vm, &need, &run_events, run);
	if (!run->lease)
		return err_sys(err, -ENOMEM, "no machine can be asked for");
	tell_if_first(run);
	return 0;
}

/* It waits again, and holds nothing meanwhile. */
void run_forget_inputs(struct run *run)
{
	if (run->keeps)
		return; /* what has gone is nowhere else */
	run_unprepare(run);
	arena_done(&run->texts);
	run->collected = false;
}

/* The disk may say that it has room, and have none for what a run needs. */
#define PUT_BACK_MAX 20

bool run_wait_again(struct run *run, int r)
{
	bool full = r == -ENOSPC || r == -EDQUOT;

	depot_note(run->d->depot, r);
	if (!full || run->unclear || run_is_guest(run) || run->cancelled ||
	    run->why != RUN_NOT_FAILED)
		return false;
	if (!run_is_granted(run))
		return true; /* it is stranded, and on record as queued */
	if (run->put_back >= PUT_BACK_MAX || sched_put_back(&run->slot) < 0)
		return false;
	run->put_back++;
	vm_end(take_ptr(run->lease));
	run_tape_end(run);
	run_enter(run, RUN_QUEUED);
	run_forget_inputs(run);
	lifecycle_post_idle(run->d->lifecycle);
	return true;
}

/* Its inputs are known, and with them what its machine may come to. */
static int settle(struct run *run, struct err *err)
{
	int r = sched_grow(&run->slot, run_room_need(run), err);

	if (r == 0)
		return lease(run, err);
	run->final = r == -E2BIG;
	if (r != -EAGAIN)
		return run->final ? -EINVAL : r; /* it never fits */
	run_forget_inputs(run);
	return 0;
}

/* Return: as run_collect(). */
static int collect(struct run *run, uint64_t until, struct err *err)
{
	int r = run->collected ? 0 : run_collect(run, until, err);

	run->collected = r == 0;
	return r == 0 && run->slot.granted ? settle(run, err) : r;
}

void run_no_machine(struct run *run, const char *why)
{
	if (run_is_accepted(run))
		run_finish(run, STATUS_FAILED, why);
	else
		run_fail(run, RUN_FAILED_UNASKED, why);
}

static bool on_collect(struct turn *t, uint64_t until)
{
	struct run *run = container_of(t, struct run, collect);
	struct err err = { 0 };
	int r = collect(run, until, &err);

	if (r < 0)
		run_no_machine(run, err.text);
	return r > 0;
}

void run_collect_later(struct run *run)
{
	run->collect.work = on_collect;
	turn_begin(&run->d->turns, &run->collect);
}

/* Return: as run_collect(). */
static int prepare(struct run *run, struct err *err)
{
	int r = run->vm_job.wire.argv.count ? 0 : run_prepare(run, err);

	return r == 0 ? collect(run, now_ns() + COLLECT_NS, err) : r;
}

/* As far as it goes now, the rest later, unless that is under way. */
static int prepare_all(struct run *run, struct err *err)
{
	int r = list_empty(&run->collect.node) ? prepare(run, err) : 0;

	if (r > 0)
		run_collect_later(run);
	return MIN(r, 0);
}

void run_make_ready(struct run *run)
{
	struct err err = { 0 };

	if (prepare_all(run, &err) < 0)
		run_no_machine(run, err.text);
}

static void on_ready(struct sched_slot *slot)
{
	run_make_ready(container_of(slot, struct run, slot));
}

static void on_tell(struct sched_slot *slot, const char *sentence)
{
	job_log(container_of(slot, struct run, slot)->job, "%s", sentence);
}

static bool has_machine(struct sched_slot *slot)
{
	return sessions_has_machine(container_of(slot, struct run, slot));
}

static const char *begins(struct sched_slot *slot, unsigned coming,
			  unsigned own, bool *ret)
{
	return sessions_begins(container_of(slot, struct run, slot), coming,
			       own, ret);
}

static const struct sched_slot_ops slot_ops = {
	.ready = on_ready,
	.tell = on_tell,
	.has_machine = has_machine,
	.begins = begins,
};

/* The sandbox is queued, not what runs in it. While it has no environment
 * run_make_ready() follows. */
static int enter_sandbox(struct run *run, struct err *err)
{
	int r = sandbox_enter(run, err);

	run->slot.granted = r == 0;
	return r < 0 || sandbox_is_built(run) ? r : prepare(run, err);
}

int run_ask(struct run *run, struct err *err)
{
	const struct job_config *c = run->spec.config;
	int r;

	if (c->sandbox)
		return enter_sandbox(run, err);
	r = run_await_build(run, err);
	if (r)
		return MIN(r, 0);
	run->slot = (struct sched_slot){
		.ops = &slot_ops, .uid = run->job->meta.uid,
		/* the steps of a session keep their order */
		.priority = c->session ? 0 : c->priority,
		.memory = MIB(c->memory_mb), .cpus = (unsigned)c->cpus,
		.session = c->session,
		.old = run->job->leftover.left ? MAX(run->job->meta.queued_no, 1u) : 0,
	};
	r = sched_enter(run->d->sched, &run->slot);
	if (r < 0)
		return err_sys(err, r, "the job cannot be queued");
	return r ? prepare(run, err) : 0;
}

void run_queue(struct run *run)
{
	struct err err = { 0 };
	int more = run_ask(run, &err);

	if (more < 0)
		run_no_machine(run, err.text);
	else if (more)
		run_collect_later(run);
	else
		sched_tell(&run->slot);
}

void run_collect_more(struct run *run)
{
	struct err err = { 0 };

	turn_stop(&run->collect);
	if (prepare(run, &err) < 0)
		run_no_machine(run, err.text);
}

void run_hold(struct run *run)
{
	run->busy++;
}

void run_let_go(struct run *run)
{
	if (--run->busy == 0 && !run->job)
		run_free(run);
}

/* What came before the run was accepted. */
static void go_on(struct run *run)
{
	if (run->why != RUN_NOT_FAILED)
		run_fail_accepted(run);
	else if (run->phase == RUN_GRANTED && run->stored)
		run_go(run);
	else if (run->phase == RUN_GRANTED)
		run_begin(run, run->lease);
}

/* Whoever closed it was told so. The start that finds it reads the rest from
 * the config; that it runs, or has failed, waits for the disk. */
static void accept_promised(struct run *run)
{
	struct job *job = run->job;

	depot_run_drop(run->d->depot, job->meta.no, job->meta.run);
	run_fill_accepted(run, depot_next_no(run->d->depot), &job->meta);
	run->recorded_ns = job->meta.changed_ns;
}

/* So many turns of the loop it takes a machine that waits to be leased. */
#define AT_HAND 3

static int accept_run(struct run *run, struct err *err)
{
	struct job *job = run->job;
	unsigned old_attempts = job->meta.attempt;
	int r;

	/* A machine that is at hand comes now, and makes two records one. */
	for (int i = 0; i < AT_HAND && fiber_self() && run->lease &&
			run->phase == RUN_NEW && run->why == RUN_NOT_FAILED;
	     i++)
		fiber_breathe();
	job_keep_results(job);
	run_forget_tries(job);
	r = run_record(run, run->phase == RUN_EARLY &&
					    run->why == RUN_NOT_FAILED
				    ? JOB_RUNNING : JOB_QUEUED);
	if (r < 0 && job->accept.promised) { /* it is on record, if with less */
		accept_promised(run);
		r = 0;
	}
	if (r < 0)
		job_unkeep_results(job);
	if (r < 0)
		return err_sys(err, r,
			       "the job cannot be queued in the state "
			       "directory %s", depot_dir(run->d->depot));
	leftover_forget_wait(job);
	job_results_hide(job);
	if (old_attempts > 1)
		depot_attempts_drop(job->d->depot, job->meta.no);
	job_set_error(job, NULL); /* it may wait: the run is nobody's yet */
	job_unpromise(job);
	job->run = run;
	statistics_accepted(job->d);
	r = job_posted(job, EV_COMMIT, run->recorded_ns);
	/* nothing waits from here to go_on() */
	run_enter(run, run_phase_accepted(run->phase));
	return r;
}

/* An earlier daemon has accepted it: so it is on record. */
static int take_up(struct run *run)
{
	struct job_meta *m = &run->job->meta;

	run->reset = run_reset(run) == 0;
	if (!run->reset) /* depot_run_make() minds it, if that matters */
		log_warn("job %s: what a server before has left of its run "
			 "cannot be removed yet", m->name);
	if (run->job->leftover.queued_ns)
		run->queued_ns = run->job->leftover.queued_ns;
	job_take_limits(run->job, run->spec.config);
	run->job->run = run;
	run_enter(run, run_phase_accepted(run->phase));
	events_state(run->job);
	return 0;
}

int run_start(struct job *job, struct run_spec *spec, struct err *err)
{
	bool queued = job->meta.state == JOB_QUEUED;
	struct run *run = run_new(job, spec, job->meta.run + !queued);
	int more, r;

	if (!run)
		return err_sys(err, -ENOMEM, "the job cannot be queued");
	more = run_ask(run, err);
	r = MIN(more, 0);
	run_hold(run);
	if (r == 0)
		r = queued ? take_up(run) : accept_run(run, err);
	if (r < 0) {
		run_give_up(run);
		run_let_go(run);
		return r;
	}
	if (more)
		run_collect_later(run);
	else
		sched_tell(&run->slot);
	sandbox_tell(run);
	go_on(run);
	run_let_go(run);
	return 0;
}

/* --- reading ------------------------------------------------------------ */

const char *const run_stream_names[VM_STREAM_MAX] = {
	[VM_OUT] = "stdout", [VM_ERR] = "stderr", [VM_RESULT] = "shown",
};

/* A run's streams are made when there is something to put into them, or when
 * somebody wants to see them grow. */
int run_stream_make(struct run *run, enum vm_stream stream)
{
	int fd;

	if (run->stream[stream].fd >= 0)
		return 0;
	fd = depot_stream_open(run->d->depot, run->job->meta.no, run->number,
			       run_stream_names[stream]);
	run_stream_made(&run->stream[stream], fd);
	return MIN(fd, 0);
}

void run_stream_made(struct run_stream *s, int fd)
{
	if (s->fd < 0)
		s->fd = MAX(fd, -1);
	else if (fd >= 0 && fd != s->fd)
		close(fd);
}

int run_open(struct job *job, enum vm_stream stream)
{
	struct run *run = job->run;

	if (run && run->stored && !run_is_ending(run)) {
		run_hold(run);
		run_stream_make(run, stream);
		run_let_go(run);
	}
	return depot_run_open(job->d->depot, job->meta.no, job->meta.run,
			      run_stream_names[stream]);
}

static size_t bounded(const struct run_stream *s, size_t size, uint64_t offset)
{
	return (size_t)MIN((uint64_t)size, s->size - MIN(offset, s->size));
}

int run_read(struct job *job, enum vm_stream stream, char *room, size_t size,
	     uint64_t offset)
{
	auto_close int opened = -1;
	int fd = job->run ? job->run->stream[stream].fd : -1;
	ssize_t n;

	/* What is being written is not there yet. */
	if (job->run && fd >= 0)
		size = bounded(&job->run->stream[stream], size, offset);
	if (!size || !job->meta.run || !job_has_row(job, stream == VM_OUT
							? JOB_ROW_STDOUT
							: JOB_ROW_STDERR))
		return 0;
	if (fd < 0) {
		opened = depot_run_open(job->d->depot, job->meta.no,
					job->meta.run, run_stream_names[stream]);
		fd = opened;
	}
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	n = job_pread(job, fd, room, size, offset);
	return (int)n;
}

uint64_t run_stream_size(const struct job *job, enum vm_stream stream)
{
	struct stat st;

	if (job->run && job->run->stream[stream].fd >= 0)
		return job->run->stream[stream].size;
	if (!job->meta.run ||
	    depot_run_stat(job->d->depot, job->meta.no, job->meta.run,
			   run_stream_names[stream], &st) < 0)
		return 0;
	return (uint64_t)st.st_size;
}
