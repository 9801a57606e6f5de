/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a run: notes the outcome, stores result.json, then writes the record "done", which
 * publishes the result. If the disk is full the run tries again until it is stored. If
 * the job has attempts left, the next run begins instead (run_stop.c).
 *
 * The file writes run->end and run->ending. run_finish() runs on the loop and returns at
 * once; on_end() and on_again() are fibers that hold the job; do_end() and the functions
 * that it calls run on a thread for the disk.
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "fsd/jobs/job_state.h"
#include "fsd/jobs/removed_files.h"
#include "fsd/jobs/event_log.h"
#include "fsd/jobs/statistics.h"
#include "disk_space.h"
#include "run_int.h"
#include "run_network.h"

/* Return: milliseconds between two times in ns; unknown if one was not reached. */
static uint64_t span_ms(uint64_t from, uint64_t to)
{
	return from && to >= from ? (to - from) / NS_PER_MS : RESULT_UNKNOWN;
}

static void fill_timing(struct run *run, struct job_result *res)
{
	uint64_t now = now_ns();

	run->end.ended_ns = realtime_ns();
	res->queued_ms = span_ms(run->times.queued_ns,
				 run->times.granted_ns ? run->times.granted_ns : now);
	res->machine_ms = span_ms(run->times.granted_ns, run->times.started_ns);
	res->run_ms = span_ms(run->times.started_ns, run->times.exited_ns);
	res->collect_ms = span_ms(run->times.exited_ns, now);
	res->total_ms = span_ms(run->times.queued_ns, now);
	res->created_ns = run->job->meta.created_ns;
	res->started_ns = run->times.started_real_ns;
	res->ended_ns = run->end.ended_ns;
	res->kept_until_ns = retain_until(run->job, res->ended_ns);
}

static void fill_exit(const struct run *run, struct job_result *res)
{
	const struct wire_exit *e = &run->exit;

	res->exit_code = status_exit_code(res->status, e->value);
	res->program_exit_code = -1;
	if (run_has_exit(run) && e->kind == WIRE_EXIT_SIGNAL)
		res->signal = e->value;
	if (run_has_exit(run) && e->kind == WIRE_EXIT_CODE)
		res->program_exit_code = (int)e->value;
}

static const char *const *missing_walls(const struct fsd *d)
{
	static const char *names[WALLS_EVERYWHERE + 1];
	const struct walls *walls = vm_walls(d->vm);
	uint32_t guest;

	if (!walls)
		return NULL;
	vm_guest_walls(d->vm, &guest);
	walls_missing(walls, guest, names);
	return names;
}

static void fill_rest(struct run *run, struct job_result *res)
{
	res->language = run->spec.lang ? run->spec.lang->name : NULL;
	res->stdin_read = run->spec.config && run->spec.config->stdin_open
				  ? run->feed.read : RESULT_UNKNOWN;
	res->stdout_bytes = run->stream[VM_OUT].size;
	res->stdout_dropped = run->stream[VM_OUT].dropped;
	res->stderr_bytes = run->stream[VM_ERR].size;
	res->stderr_dropped = run->stream[VM_ERR].dropped;
	res->output = run->tree.files;
	res->output_count = run->tree.count;
	res->output_dropped = run->tree.dropped;
	res->left = run->tree.left;
	res->left_count = run->tree.left_count;
	if (!run->value.overflow) {
		res->guest_json = run->value.json.data;
		res->guest_len = run->value.json.len;
	}
	res->session = run->spec.config ? run->spec.config->session : NULL;
	if (res->session && run_facts(run->phase)->sent) {
		bool lives = run->phase == RUN_COMPLETE && run->exit.lives;

		res->session_state = lives ? "kept" : "lost";
		res->step = run->living.step;
	}
	run_fill_environment(run, res);
	res->source = run->machine.source;
	res->accel = run->machine.accel;
	if (run->machine.template_id[0])
		res->template_id = run->machine.template_id;
	res->missing_walls = missing_walls(run->job->d);
	run_network_fill(run, res);
}

static void fill_attempts(struct run *run, struct job_result *res)
{
	static const struct result_attempt unknown[LIMIT_RETRY];
	const struct job_meta *m = &run->job->meta;
	unsigned before = MIN(MAX(m->attempt, 1u) - 1, LIMIT_RETRY);
	struct run_end *end = &run->end;

	if (before)
		end->attempts = calloc(before, sizeof(*end->attempts));
	if (end->attempts)
		store_attempts_read(run->d->store, m->no, run->number,
				    end->attempts, before, &end->attempts_text);
	res->attempt = before + 1;
	res->attempts = end->attempts ? end->attempts : unknown;
}

/*
 * Fills the result of a run that a previous server had begun and that cannot be
 * continued. Every value comes from the record and from stored files, so that each server
 * that ends the run (another may die meanwhile) writes the same result.
 */
static void fill_found(const struct run *run, struct job_result *res)
{
	const struct job_meta *m = &run->job->meta; /* the job's state is still
						     * "running" */
	const struct job_result all = *res;
	uint64_t queued_ms = events_queued_ms(run->d->store, m->no, run->number);

	*res = (struct job_result){
		.job = all.job, .id = all.id, .status = all.status,
		.exit_code = all.exit_code, .message = all.message,
		.program_exit_code = -1,
		.attempt = all.attempt, .attempts = all.attempts,
		.stdin_read = RESULT_UNKNOWN,
		.stdout_bytes = all.stdout_bytes,
		.stderr_bytes = all.stderr_bytes,
		.wall_ms = RESULT_UNKNOWN, .user_ms = RESULT_UNKNOWN,
		.system_ms = RESULT_UNKNOWN,
		.peak_memory_bytes = RESULT_UNKNOWN,
		.peak_processes = RESULT_UNKNOWN,
		.queued_ms = span_ms(queued_ms * NS_PER_MS, m->changed_ns),
		.machine_ms = RESULT_UNKNOWN,
		.run_ms = RESULT_UNKNOWN, .collect_ms = RESULT_UNKNOWN,
		.total_ms = RESULT_UNKNOWN,
		.missing_walls = missing_walls(run->d),
		.warm = -1,
		.created_ns = all.created_ns,
		.started_ns = m->state == JOB_RUNNING ? m->changed_ns : 0,
		.kept_until_ns = all.kept_until_ns,
	};
}

/* --- publishing ----------------------------------------------------------- */

#define BULKY_VALUE (1u << 20)

static int store_result(struct run *run, const struct buf *text)
{
	struct store *store = run->d->store;
	uint64_t no = run->end.meta.no;
	int r = 0;

	if (!run->record.stored)
		r = store_run_make(store, no, run->number, true);
	return r < 0 ? r
		     : store_run_publish(store, no, run->number, "result.json",
					 text->data, text->len);
}

/*
 * Writes and syncs result.json and the run's files, before the record. Linux reports a
 * failed write-back once, to the first fsync; a second fsync would succeed although the
 * data is lost. So after an error the file is written again (not_kept()), never only
 * synced again.
 */
static int publish_result(struct run *run)
{
	struct store *store = run->d->store;
	struct buf text = { .cap = MIB(128) };
	int r = result_render(&run->end.res, &text);

	run->end.stored = text.len;
	if (r == 0)
		r = store_result(run, &text);
	if ((r == -ENOSPC || r == -EDQUOT) && store_give_reserve(store)) {
		r = store_result(run, &text);
		store_reserve_used(store);
	}
	if (r == 0)
		r = store_sync_run(store, run->end.meta.no, run->number);
	buf_done(&text);
	/* A large value was built from many small allocations, which the C library would
	 * not return to the system. */
	if (run->end.res.guest_len > BULKY_VALUE)
		malloc_trim(0);
	return r;
}

/* Stores the result again, as failed. If that fails, removes result.json, so that no
 * stored result differs from the one that readers see. Return: 0, or negative errno: the
 * old file may be there. */
static int store_failure(struct run *run)
{
	struct store *store = run->d->store;
	uint64_t no = run->end.meta.no;
	struct buf text = { .cap = MIB(128) };
	int r = result_render(&run->end.res, &text);

	if (r == 0)
		r = store_run_publish(store, no, run->number, "result.json",
				      text.data, text.len);
	if (r == 0)
		r = store_sync_result(store, no, run->number);
	run->end.stored = r == 0 ? text.len : 0;
	buf_done(&text);
	if (r < 0)
		r = store_run_unpublish(store, no, run->number, "result.json");
	return r;
}

static void end_as(struct run *run, enum job_status status)
{
	struct job_result *res = &run->end.res;

	res->message = run->end.message;
	res->status = status;
	res->exit_code = status_exit_code(status, 0);
}

static int not_kept(struct run *run, int r)
{
	snprintf(run->end.message, sizeof(run->end.message),
		 "the result cannot be stored: %s", strerror(-r));
	end_as(run, STATUS_FAILED);
	return store_failure(run);
}

/* Handles a read-only disk, on which the record stays "running" or "queued". Shows the
 * end that the next server will give the run, so that readers see the same under both. */
static void not_on_record(struct run *run, int r)
{
	struct run_end *end = &run->end;

	log_error("job %s: its end cannot be written: %s", run->job->meta.name,
		  strerror(-r));
	end->stored = 0;
	if (run->job->meta.state != JOB_RUNNING)
		return; /* the next server runs the job, or ends it in the same way */
	snprintf(end->message, sizeof(end->message), "%s", RUN_NO_END);
	end_as(run, STATUS_INTERRUPTED);
}

static bool is_failure(const struct job_result *res)
{
	return res->status == STATUS_FAILED ||
	       res->status == STATUS_INTERRUPTED;
}

/* Stores the text of `error` before the record, so that no reader sees the failure
 * without its reason. */
static void store_why(const struct run *run)
{
	const struct job_result *res = &run->end.res;
	struct store *store = run->d->store;
	auto_buf struct buf text = { 0 };

	if (!is_failure(res) || !res->message)
		return;
	buf_fmt(&text, "%s\n", res->message);
	if (text.failed ||
	    store_error_write(store, run->end.meta.no, text.data) < 0 ||
	    store_sync_words(store, run->end.meta.no, "error") < 0)
		log_warn("job %s: its error cannot be stored", run->end.name
			 ? run->end.name : "?");
}

static int record_end(struct run *run)
{
	struct run_end *end = &run->end;

	end->meta.exit_code = end->res.exit_code;
	end->meta.ended_ns = end->ended_ns;
	end->meta.changed_ns = realtime_ns();
	return store_meta_commit(run->d->store, &end->meta);
}

/* Appends the last lines of the log. */
static void say_end(struct buf *log, const struct job_result *res)
{
	char until[32];

	job_log_line(log, "%s, exit code %u%s%s", status_name(res->status),
		     res->exit_code, res->message ? ": " : "",
		     res->message ? res->message : "");
	if (res->kept_until_ns) {
		time_render(res->kept_until_ns, until);
		job_log_line(log, "kept until %s", until);
	}
	job_log_line(log, "%s", state_name(JOB_DONE));
}

/*
 * On a thread. Writes the result, the log and the events, then the record, which
 * publishes them; last, the log lines that report the end. If the record cannot be
 * written, the old one is restored.
 */
static int do_end(void *arg)
{
	struct run *run = arg;
	struct store *store = run->d->store;
	struct run_end *end = &run->end, before = run->end;
	int r = publish_result(run);

	if (r < 0)
		r = store_check_record(store, not_kept(run, r));
	store_why(run);
	events_store(store, &run->ending.lines.events);
	job_lines_store_log(store, &run->ending.lines);
	if (r == 0)
		r = record_end(run);
	if (r < 0) {
		*end = before;
		store_meta_write(store, &run->job->meta);
		return r;
	}
	run->ending.said = true;
	say_end(&run->ending.lines.log, &end->res);
	job_lines_store_log(store, &run->ending.lines);
	return 0;
}

static void log_end(struct job *job, const struct job_result *res)
{
	auto_buf struct buf lines = { 0 };

	say_end(&lines, res);
	job_log_lines(job, &lines);
}

static void count_end(const struct run *run)
{
	unsigned lang = run->spec.lang ? run->spec.lang->id : LANG_MAX;

	statistics_ended(run->d, &run->end.res, lang, run->machine.source);
}

static void end_run(struct job *job, struct run *run)
{
	struct run_end *end = &run->end;
	const struct job_result *res = &end->res;
	bool failed = is_failure(res);

	if (failed)
		job_show_error(job, res->message);
	count_end(run);
	job->run = NULL;
	if (end->result == 0)
		removed_files_drop(job);
	job_lines_stored(job, &run->ending.lines);
	if (!run->ending.said)
		log_end(job, res);
	log_info("job %s/%s of user %u (%s): %s, exit code %u, %s, %llu ms",
		 job->d->options->mountpoint, job->meta.name, job->meta.uid,
		 res->id, status_name(res->status), res->exit_code,
		 res->language ? res->language : "no language",
		 (unsigned long long)(res->wall_ms == RESULT_UNKNOWN ?
				      0 : res->wall_ms));
	job_results_show(job, end->result == 0);
	failed = failed || res->status == STATUS_CANCELLED;
	end->meta.exit_code = res->exit_code;
	end->meta.ended_ns = end->ended_ns;
	job_ended(job, failed ? EV_FAIL : EV_END, &end->meta);
}

/* Output could not be stored, and this became known after run_finish() had set the
 * status: sets "failed". */
static void fill_lost(struct run *run)
{
	struct job_result *res = &run->end.res;

	if (res->status == STATUS_FAILED)
		return;
	strcpy(run->end.message, "the output could not be kept on the host");
	res->message = run->end.message;
	res->status = STATUS_FAILED;
	res->exit_code = status_exit_code(STATUS_FAILED, 0);
}

#define LATER_NS (NS_PER_S / 2)

static void on_end(void *arg);

static void on_later(struct loop_timer *t)
{
	struct run *run = t->arg;

	job_show_error(run->job, NULL);
	run_hold(run);
	fiber_run(on_end, run);
}

/* Handles a full disk. The record says "queued" or "running", so a restart would run the
 * job or interrupt it: the run has not ended for readers, and tries again. */
static void wait_for_room(struct run *run, int r)
{
	char text[200];

	snprintf(text, sizeof(text), "how it ended cannot be stored, which is tried "
		 "until it can: %s", strerror(-r));
	job_lines_stored(run->job, &run->ending.lines);
	job_show_error(run->job, text);
	run->timer.fn = on_later;
	run->timer.arg = run;
	loop_timer_set(run->d->loop, &run->timer, LATER_NS);
}

static void on_end(void *arg)
{
	struct run *run = arg;
	int r = 0;

	output_queue_wait(run);
	if (run->job)
		job_hold(run->job);
	if (run->job) { /* NULL: the job was removed meanwhile */
		run_output_cut(run);
		fill_rest(run, &run->end.res);
		if (run->output_queue.failed)
			fill_lost(run);
		if (run->phase == RUN_LOST)
			fill_found(run, &run->end.res);
		run->end.meta = run->job->meta;
		run->end.meta.state = JOB_DONE;
		job_lines_take(run->job, &run->ending.lines);
		if (run->phase != RUN_LOST)
			run_say_cuts(run);
		r = run->end.result = store_do(run->d->store, do_end, run);
	}
	disk_space_noticed(run->d);
	if (run->ending.waiter)
		fiber_wake(take_ptr(run->ending.waiter));
	if (run->job && store_is_short(r)) {
		wait_for_room(run, r);
	} else if (run->job) {
		if (r < 0)
			not_on_record(run, r);
		quota_run_sub(&run->job->file_owner, run->value.json.len);
		quota_run_add(&run->job->file_owner, run->end.stored);
		end_run(take_ptr(run->job), run);
	}
	jobs_let_go();
	run_let_go(run);
}

int run_wait_end(struct run *run)
{
	int r;

	if (run->ending.waiter || !fiber_self())
		return 0;
	run_hold(run);
	run->ending.waiter = fiber_self();
	jobs_let_go();
	fiber_pause();
	r = run->end.result;
	run_let_go(run);
	return r;
}

/* Makes the result from the status and the message in run->end, and begins to store
 * it. */
static void end_now(struct run *run)
{
	struct run_end *end = &run->end;
	const char *message = end->res.message;
	enum job_status status = end->res.status;
	struct job *job = run->job;

	end->name = strdup(job->meta.name);
	store_id(job->meta.no, end->id);
	if (message && message != end->message)
		snprintf(end->message, sizeof(end->message), "%s", message);
	end->res = (struct job_result){
		.job = end->name ? end->name : "", .id = end->id,
		.status = status, .message = message ? end->message : NULL,
	};
	fill_exit(run, &end->res);
	run_fill_usage(run, &end->res);
	fill_timing(run, &end->res);
	fill_attempts(run, &end->res);
	run_hold(run);
	fiber_run(on_end, run);
}

/* Begins the next run, or ends this one if there is none. The fiber may wait for the
 * job's lock, and the fiber that had it may have cancelled or removed the job. */
static void on_again(void *arg)
{
	struct run *run = arg;
	struct job_result *res = &run->end.res;

	output_queue_wait(run);
	if (run->job)
		job_hold(run->job);
	run_end_enter(run, RUN_END_PUBLISH);
	if (run->job && !run_again(run, res->status, res->message)) {
		if (run->cancelled)
			res->status = STATUS_CANCELLED;
		end_now(run);
	} else if (run->ending.waiter) { /* no result will be stored: a fiber in
					  * run_wait_end() must not wait for one */
		fiber_wake(take_ptr(run->ending.waiter));
	}
	jobs_let_go();
	run_let_go(run);
}

void run_finish(struct run *run, enum job_status status, const char *message)
{
	struct run_end *end = &run->end;
	bool again = run_may_again(run, status);

	run_hold(run);
	loop_timer_del(&run->timer);
	run_network_stop(run);
	run_queue_done(run); /* otherwise a build that ends later would end the run
			      * again */
	if (run->vm_job.replay) /* the next server must not begin the program */
		replay_mark_begun(run->vm_job.replay);
	run_end_enter(run, again ? RUN_END_AGAIN : RUN_END_PUBLISH);
	snprintf(end->message, sizeof(end->message), "%s",
		 message ? message : "");
	end->res = (struct job_result){
		.status = status, .message = message ? end->message : NULL,
	};
	if (!again)
		end_now(run);
	/* A machine that may still do something ends now, and a session gets its machine
	 * back. A machine that has sent everything ends later, in run_free(): a reader
	 * who waits for the result should not wait for that. */
	if (run->phase != RUN_COMPLETE || run->host->stays || again) {
		run_leave(run);
		sched_leave(&run->slot);
		run_unprepare(run);
	}
	if (again) {
		run_hold(run);
		fiber_run(on_again, run);
	}
	run_let_go(run);
}

void run_end_done(struct run *run)
{
	job_lines_done(&run->ending.lines);
	free(run->end.name);
	free(run->end.attempts);
	free(run->end.attempts_text);
}
