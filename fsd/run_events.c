/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine tells of a run. Every figure here was chosen by a guest. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "events.h"
#include "notify.h"
#include "run_int.h"
#include "wait.h"

static void on_timer(struct loop_timer *t)
{
	struct run *run = t->arg;
	const struct job_config *c = run->spec.config;

	if (!run->timed_out && c->grace_ms) {
		run->timed_out = true;
		job_log(run->job, "timeout: SIGTERM");
		vm_kill(run->lease, WIRE_KILL_ALL, SIGTERM);
		loop_timer_set(run->d->loop, t, c->grace_ms * NS_PER_MS);
		return;
	}
	run->timed_out = true;
	job_log(run->job, "timeout: SIGKILL");
	vm_kill(run->lease, WIRE_KILL_ALL, SIGKILL);
}

#define NOT_STORED "the job's results cannot be stored in the state directory"

void run_begin(struct run *run, struct vm_lease *lease)
{
	struct vm_lease_info info;
	char message[200];
	int r;

	run->lease = lease;
	vm_hear(lease, &run_events, run);
	if (run->d->handing_over)
		return; /* the next server runs it */
	vm_lease_info(lease, &info);
	run->granted_ns = now_ns();
	run->source = vm_source_names[info.source];
	run->accel = vm_accel_names[info.accel];
	snprintf(run->template_id, sizeof(run->template_id), "%s",
		 info.template_id ? info.template_id : "");
	run->running = true;
	run->d->busy++;
	vm_run(run->lease, &run->vm_job);
	/* While the machine is at it. */
	r = run_store(run);
	if (run->job->meta.state != JOB_RUNNING)
		job_post(run->job, EV_GRANT);
	if (r < 0) {
		snprintf(message, sizeof(message), NOT_STORED ": %s",
			 strerror(-r));
		run_finish(run, STATUS_FAILED, message);
	}
}

static void on_granted(void *arg)
{
	struct run *run = arg;

	run_begin(run, run->lease);
}

static int on_open_input(void *arg, unsigned i)
{
	return run_open_input(arg, i);
}

static void on_started(void *arg)
{
	struct run *run = arg;

	run->started = true;
	run->started_ns = now_ns();
	run->started_real_ns = realtime_ns();
	run->timer.fn = on_timer;
	run->timer.arg = run;
	loop_timer_set(run->d->loop, &run->timer,
		       run->spec.config->timeout_ms * NS_PER_MS);
}

/* Said once; what is left out is counted where it is. */
void run_over_quota(struct run *run)
{
	if (run->over_quota)
		return;
	run->over_quota = true;
	job_log(run->job, "some of the output is left out: " RUN_OVER_QUOTA);
}

static int keep_result(struct run *run, const void *data, size_t len)
{
	if (run->guest_overflow)
		return 0;
	if (len > quota_run_room(run->job)) {
		run_over_quota(run);
		run->guest_overflow = true;
	} else if (buf_add(&run->guest_json, data, len) < 0) {
		run->guest_overflow = true;
	} else {
		quota_run_add(run->job, len);
	}
	return 0;
}

/* All of data into the stream's file. Return: 0 or negative errno. */
static int append(struct run_stream *s, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(s->fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
		s->size += (uint64_t)n;
	}
	return 0;
}

static int on_output(void *arg, enum vm_stream stream, const void *data,
		     size_t len)
{
	struct run *run = arg;
	struct run_stream *s;
	uint64_t room, before;
	int r;

	if (stream == VM_RESULT)
		return keep_result(run, data, len);
	s = &run->stream[stream];
	room = s->limit - MIN(s->size, s->limit);
	if (MIN(len, room) > quota_run_room(run->job)) {
		run_over_quota(run);
		room = quota_run_room(run->job);
	}
	s->dropped += len - MIN(len, room);
	before = s->size;
	r = room ? run_stream_make(run, stream) : 0;
	if (r == 0)
		r = append(s, data, MIN(len, room));
	events_output(run->job, stream, s->size - before);
	quota_run_add(run->job, s->size - before);
	if (r < 0)
		job_log(run->job, "output cannot be stored: %s", strerror(-r));
	if (s->size == before)
		return r;
	wait_kick(run->job);
	notify_grew(run->job, stream == VM_OUT ? JOB_ROW_STDOUT
					       : JOB_ROW_STDERR);
	return r;
}

/* STARTED may come late, and with a short program comes with its end. What the
 * guest says of the time is believed as far as it can be true. */
static void correct_start(struct run *run, uint64_t wall_ns)
{
	uint64_t late;

	if (!run->started || wall_ns >= run->exited_ns - run->granted_ns ||
	    run->exited_ns - wall_ns >= run->started_ns)
		return;
	late = run->started_ns - (run->exited_ns - wall_ns);
	run->started_ns -= late;
	run->started_real_ns -= late;
}

/* What the guest dropped never came here; what we dropped did. */
static void add_dropped(struct run_stream *s, uint64_t guests)
{
	s->dropped = guests > INT64_MAX - s->dropped ? RESULT_UNKNOWN
						     : s->dropped + guests;
}

static void on_exited(void *arg, const struct wire_exit *e)
{
	struct run *run = arg;

	loop_timer_del(&run->timer);
	run->ended = true;
	run->exit = *e;
	run->exited_ns = now_ns();
	correct_start(run, e->wall_ns);
	add_dropped(&run->stream[VM_OUT], e->stdout_dropped);
	add_dropped(&run->stream[VM_ERR], e->stderr_dropped);
}

static int on_file(void *arg, uint32_t kind, uint32_t mode, uint64_t size,
		   const char *path)
{
	return run_output_file(arg, kind, mode, size, path);
}

static int on_file_data(void *arg, const void *data, size_t len)
{
	return run_output_data(arg, data, len);
}

static int on_file_end(void *arg)
{
	return run_output_end(arg);
}

static enum job_status status_of(const struct run *run)
{
	const struct wire_exit *e = &run->exit;
	bool killed = e->kind == WIRE_EXIT_SIGNAL && e->value == SIGKILL;

	if (run->cancelled && killed)
		return STATUS_CANCELLED;
	if (run->timed_out)
		return STATUS_TIMEOUT;
	if (killed && e->oom_kills && e->oom_kills != WIRE_UNKNOWN)
		return STATUS_OUT_OF_MEMORY;
	return e->kind == WIRE_EXIT_CODE ? STATUS_EXITED : STATUS_SIGNALED;
}

static void on_finished(void *arg, uint32_t files, uint32_t left_out)
{
	struct run *run = arg;

	(void)files;
	run->output_dropped += left_out;
	run->complete = true;
	run_finish(run, status_of(run), NULL);
}

static void on_failed(void *arg, enum vm_failure why, const char *sentence)
{
	struct run *run = arg;
	char message[600];

	if (why != VM_FAILED_LOST && why != VM_FAILED_GUEST &&
	    sessions_retry(run))
		return;
	if (run->ended) { /* its outcome is known; some output may be missing */
		snprintf(message, sizeof(message),
			 "the output tree is incomplete: %s", sentence);
		run_finish(run, status_of(run), message);
		return;
	}
	snprintf(message, sizeof(message), "%s: %s",
		 why == VM_FAILED_LOST ? "the program's outcome is unknown"
				       : "the program never ran",
		 sentence);
	/* Who asked for the end gets it, also from a machine that is silent. */
	run_finish(run, run->cancelled	 ? STATUS_CANCELLED
			: run->timed_out ? STATUS_TIMEOUT
					 : STATUS_FAILED,
		   message);
}

const struct vm_events run_events = {
	.granted = on_granted,
	.open_input = on_open_input,
	.started = on_started,
	.output = on_output,
	.exited = on_exited,
	.file = on_file,
	.file_data = on_file_data,
	.file_end = on_file_end,
	.finished = on_finished,
	.failed = on_failed,
};
