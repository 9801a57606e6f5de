/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event.h"
#include "events.h"
#include "lifecycle.h"
#include "parsed.h"
#include "run_int.h"
#include "wait.h"

/* Inputs are collected for so long before the job is queued. */
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
	else if (run->lease)
		vm_end(take_ptr(run->lease));
}

void run_free(struct run *run)
{
	if (!run)
		return;
	loop_timer_del(&run->timer);
	run_leave(run);
	run->d->busy -= run->running;
	if (run->counted) {
		run->d->running--;
		lifecycle_run_ended(run->d);
	}
	run_unprepare(run);
	quota_leave(&run->slot);
	run_output_done(run);
	arena_done(&run->texts);
	for (int i = 0; i < 2; i++)
		fd_close(&run->stream[i].fd);
	buf_done(&run->guest_json);
	free(run->end.name);
	free(run->end.attempts_text);
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
	run->spec = *spec;
	*spec = (struct run_spec){ 0 };
	run->file_fd = -1;
	run->guest_json.cap = LIMIT_VALUE_BYTES;
	run->stream[VM_OUT] = (struct run_stream){
		.fd = -1, .limit = run->spec.config->stdout_limit,
	};
	run->stream[VM_ERR] = (struct run_stream){
		.fd = -1, .limit = run->spec.config->stderr_limit,
	};
	run->queued_ns = now_ns();
	return run;
}

void run_hide_old(struct job *job)
{
	node_root_free(take_ptr(job->output));
	quota_area_end(job, AREA_OUTPUT);
	job->hidden = 0;
	job->has_results = false;
	job_sink_drop(job);
}

void run_drop(struct job *job, unsigned number)
{
	char path[STORE_PATH_MAX], id[STORE_ID_SIZE];

	if (!number)
		return;
	depot_id(job->meta.no, id);
	snprintf(path, sizeof(path), "%s/r%u", id, number);
	depot_trash(job->d->depot, path);
}

static int lease(struct run *run, struct err *err)
{
	struct vm_need need = {
		.runner = run->vm_job.wire.runner,
		.memory_bytes = run_memory_need(run),
		.cpus = run->vm_job.wire.cpus,
		.owner = run->job->meta.uid,
	};

	if (run->spec.config->session)
		return sessions_join(run, err);
	run->lease = vm_lease(run->d->vm, &need, &run_events, run);
	return run->lease ? 0
			  : err_sys(err, -ENOMEM,
				    "no machine can be asked for");
}

static void on_slot(struct quota_slot *slot)
{
	struct run *run = container_of(slot, struct run, slot);
	struct err err = { 0 };

	if (lease(run, &err) < 0)
		run_finish(run, STATUS_FAILED, err.text);
}

/* A lease, as soon as its owner's quota allows. */
static int ask(struct run *run, struct err *err)
{
	run->slot.ready = on_slot;
	return quota_enter(run->job->quota.user, &run->slot) ? lease(run, err)
							      : 0;
}

static void tell_wait(const struct run *run)
{
	if (!list_empty(&run->slot.node))
		job_log(run->job, "waits for another run of user %u to end: at "
			"most %" PRIu64 " at a time (--quota-running)",
			run->job->meta.uid, quota_running(run->slot.user));
}

/* The job is queued while its inputs are still being collected. */
static bool on_collect(struct turn *t, uint64_t until)
{
	struct run *run = container_of(t, struct run, collect);
	struct err err = { 0 };
	int r = run_collect(run, until, &err);

	if (r > 0)
		return true;
	if (r == 0)
		r = ask(run, &err);
	if (r < 0)
		run_finish(run, STATUS_FAILED, err.text);
	else
		tell_wait(run);
	return false;
}

/* Return: as run_collect(). */
static int prepare(struct run *run, struct err *err)
{
	int r = run_prepare(run, err);

	if (r == 0)
		r = run_collect(run, now_ns() + COLLECT_NS, err);
	return r == 0 ? ask(run, err) : r;
}

int run_store(struct run *run)
{
	struct depot *depot = run->d->depot;
	int r;

	if (run->stored)
		return 0;
	r = depot_run_make(depot, run->job->meta.no, run->number);
	run->stored = r == 0;
	if (r < 0)
		log_error("job %s: its results cannot be stored in the state "
			  "directory %s: %s", run->job->meta.name,
			  depot_dir(depot), strerror(-r));
	return r;
}

void run_collect_later(struct run *run)
{
	run->collect.work = on_collect;
	turn_begin(&run->d->turns, &run->collect);
}

/* The old results go when it is on record that there is a new run: who dies in
 * between leaves all of the one or nothing but the other. */
static int accept(struct run *run)
{
	const struct job_config *c = run->spec.config;
	struct job *job = run->job;
	struct job_meta *m = &job->meta;
	unsigned old = m->run, old_attempts = m->attempt;
	int r;

	run_hide_old(job);
	m->run = run->number;
	m->attempt = 1;
	m->retry = (unsigned)c->retry;
	m->retain_s = (uint32_t)c->retain_s;
	m->queued_no = depot_next_no(job->d->depot);
	m->ended_ns = 0;
	job->run = run;
	job_set_error(job, NULL);
	job->d->count.accepted++;
	r = job_post(job, EV_COMMIT);
	run_drop(job, old);
	if (old_attempts > 1)
		depot_attempts_drop(job->d->depot, m->no);
	return r;
}

/* An earlier daemon has accepted it. */
static int take_up(struct run *run)
{
	run->job->run = run;
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
	more = prepare(run, err);
	if (more < 0) {
		run_free(run);
		return more;
	}
	run->counted = true;
	run->d->running++;
	r = queued ? take_up(run) : accept(run);
	if (more)
		run_collect_later(run);
	else
		tell_wait(run);
	return r;
}

/* --- ending ------------------------------------------------------------- */

/* Of a run that this daemon knows nothing of but what the store has. */
static struct run *run_found(struct job *job)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	/* Nobody knows which of its files came whole. */
	depot_output_drop(job->d->depot, job->meta.no, job->meta.run);
	job->output = node_root_new(job->d->nodes, job, AREA_OUTPUT,
				    job->meta.run, false);
	quota_unpublish(job);
	run->job = job;
	run->d = job->d;
	run->number = job->meta.run;
	run->file_fd = run->stream[0].fd = run->stream[1].fd = -1;
	run->stored = depot_run_has(job->d->depot, job->meta.no, run->number);
	run->queued_ns = now_ns();
	run->stream[VM_OUT].size = run_stream_size(job, VM_OUT);
	run->stream[VM_ERR].size = run_stream_size(job, VM_ERR);
	job->run = run;
	return run;
}

void run_kill(struct job *job)
{
	struct run *run = job->run;

	if (!run && job->meta.state == JOB_QUEUED) { /* not taken up yet */
		list_del(&job->resume);
		run_found(job);
		run = job->run;
	}
	if (!run || run->ended || run->publishing)
		return;
	run->cancelled = true;
	job_log(job, "cancelled by ctl");
	if (run->started)
		vm_kill(run->lease, WIRE_KILL_ALL, SIGKILL);
	else
		run_finish(run, STATUS_CANCELLED, NULL);
}

int run_signal(struct job *job, unsigned signal)
{
	struct run *run = job->run;
	char room[16];

	if (!run || !run->started || run->ended || run->publishing)
		return -ESRCH;
	job_log(job, "signal %s by ctl", signal_name(signal, room));
	vm_kill(run->lease, WIRE_KILL_FIRST, signal);
	return 0;
}

void run_abandon(struct job *job)
{
	struct run *run = take_ptr(job->run);

	if (run && run->publishing)
		run->job = NULL; /* its publication frees it */
	else
		run_free(run);
}

void run_interrupt(struct job *job)
{
	if (!job->run || job->run->publishing)
		return;
	if (job->meta.state == JOB_QUEUED)
		run_abandon(job); /* the next daemon takes it up */
	else
		run_finish(job->run, STATUS_INTERRUPTED,
			   "fsd was stopped before the program had ended");
}

void run_recover(struct job *job)
{
	struct run *run = run_found(job);

	if (run)
		run_finish(run, STATUS_INTERRUPTED,
			   "fsd or its host ended while the job was under way");
}

void run_reject(struct job *job, const char *message)
{
	struct run *run = run_found(job);

	if (!run)
		return;
	run->final = true;
	run_finish(run, STATUS_FAILED, message);
}

/* --- reading ------------------------------------------------------------ */

static const char *const stream_files[] = {
	[VM_OUT] = "stdout", [VM_ERR] = "stderr",
};

/* A run's streams are made when there is something to put into them, or when
 * somebody wants to see them grow. */
int run_stream_make(struct run *run, enum vm_stream stream)
{
	struct run_stream *s = &run->stream[stream];

	if (s->fd < 0)
		s->fd = depot_stream_open(run->d->depot, run->job->meta.no,
					  run->number, stream_files[stream]);
	return MIN(s->fd, 0);
}

int run_open(struct job *job, enum vm_stream stream)
{
	if (job->run && job->run->stored && !job->run->publishing)
		run_stream_make(job->run, stream);
	return depot_run_open(job->d->depot, job->meta.no, job->meta.run,
			      stream_files[stream]);
}

int run_read(struct job *job, enum vm_stream stream, char *room, size_t size,
	     uint64_t offset)
{
	auto_close int opened = -1;
	int fd = job->run ? job->run->stream[stream].fd : -1;
	ssize_t n;

	if (!job->meta.run || !job_has_row(job, stream == VM_OUT
							? JOB_ROW_STDOUT
							: JOB_ROW_STDERR))
		return 0;
	if (fd < 0) {
		opened = depot_run_open(job->d->depot, job->meta.no,
					job->meta.run, stream_files[stream]);
		fd = opened;
	}
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	n = pread(fd, room, size, (off_t)offset);
	return n < 0 ? -errno : (int)n;
}

uint64_t run_stream_size(const struct job *job, enum vm_stream stream)
{
	struct stat st;

	if (job->run && job->run->stream[stream].fd >= 0)
		return job->run->stream[stream].size;
	if (!job->meta.run ||
	    depot_run_stat(job->d->depot, job->meta.no, job->meta.run,
			   stream_files[stream], &st) < 0)
		return 0;
	return (uint64_t)st.st_size;
}
