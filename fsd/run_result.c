/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run: result.json and exit_code, then the last event. */
#include <errno.h>
#include <string.h>

#include "event.h"
#include "run_int.h"
#include "wait.h"

/* Milliseconds between two points, unknown if one was never reached. */
static uint64_t span_ms(uint64_t from, uint64_t to)
{
	return from && to >= from ? (to - from) / NS_PER_MS : RESULT_UNKNOWN;
}

static uint64_t scaled(uint64_t value, uint64_t divisor)
{
	return value == WIRE_UNKNOWN ? RESULT_UNKNOWN : value / divisor;
}

static void fill_usage(const struct run *run, struct job_result *res)
{
	const struct wire_exit *e = &run->exit;

	res->wall_ms = res->user_ms = res->system_ms = RESULT_UNKNOWN;
	res->peak_memory_bytes = res->peak_processes = RESULT_UNKNOWN;
	if (!run->ended)
		return;
	res->wall_ms = scaled(e->wall_ns, NS_PER_MS);
	res->user_ms = scaled(e->user_us, 1000);
	res->system_ms = scaled(e->system_us, 1000);
	res->peak_memory_bytes = scaled(e->peak_memory_bytes, 1);
	res->peak_processes = scaled(e->peak_processes, 1);
}

static void fill_timing(const struct run *run, struct job_result *res)
{
	uint64_t now = now_ns();

	res->queued_ms = span_ms(run->queued_ns,
				 run->granted_ns ? run->granted_ns : now);
	res->machine_ms = span_ms(run->granted_ns, run->started_ns);
	res->run_ms = span_ms(run->started_ns, run->exited_ns);
	res->collect_ms = span_ms(run->exited_ns, now);
	res->total_ms = span_ms(run->queued_ns, now);
	res->created_ns = run->job->meta.created_ns;
	res->started_ns = run->started_real_ns;
	res->ended_ns = realtime_ns();
}

static void fill_exit(const struct run *run, struct job_result *res)
{
	const struct wire_exit *e = &run->exit;

	res->exit_code = status_exit_code(res->status, e->value);
	res->program_exit_code = -1;
	if (!run->ended)
		return;
	if (e->kind == WIRE_EXIT_SIGNAL)
		res->signal = e->value;
	if (e->kind == WIRE_EXIT_CODE)
		res->program_exit_code = (int)e->value;
}

static void fill_rest(const struct run *run, struct job_result *res)
{
	res->language = run->spec.lang ? run->spec.lang->name : NULL;
	res->stdout_bytes = run->stream[VM_OUT].size;
	res->stdout_dropped = run->stream[VM_OUT].dropped;
	res->stderr_bytes = run->stream[VM_ERR].size;
	res->stderr_dropped = run->stream[VM_ERR].dropped;
	res->output = run->files;
	res->output_count = run->file_count;
	res->output_dropped = run->output_dropped;
	if (!run->guest_overflow) {
		res->guest_json = run->guest_json.data;
		res->guest_len = run->guest_json.len;
	}
	res->source = run->source;
	res->accel = run->accel;
	res->template_id = run->template_id[0] ? run->template_id : NULL;
}

static int publish(struct run *run, struct job_result *res)
{
	auto_buf struct buf text = { .cap = MIB(128) };
	struct job *job = run->job;
	char line[16];
	int r = result_render(res, &text);

	if (r == 0)
		r = depot_run_publish(run->d->depot, job->meta.no, run->number,
				      "result.json", text.data, text.len);
	snprintf(line, sizeof(line), "%u\n", res->exit_code);
	if (r == 0)
		r = depot_run_publish(run->d->depot, job->meta.no, run->number,
				      "exit_code", line, strlen(line));
	return r;
}

static void log_end(struct run *run, const struct job_result *res)
{
	job_log(run->job, "%s, exit code %u%s%s", status_name(res->status),
		res->exit_code, res->message ? ": " : "",
		res->message ? res->message : "");
	log_debug("job %s: %s, exit code %u", run->job->meta.name,
		  status_name(res->status), res->exit_code);
}

void run_finish(struct run *run, enum job_status status, const char *message)
{
	struct job *job = run->job;
	char id[STORE_ID_SIZE], text[700];
	struct job_result res = {
		.job = job->meta.name, .id = id, .status = status,
		.message = message,
	};
	int r;

	loop_timer_del(&run->timer);
	depot_id(job->meta.no, id);
	fill_exit(run, &res);
	fill_usage(run, &res);
	fill_timing(run, &res);
	fill_rest(run, &res);
	if (run->guest_overflow && !message)
		res.message = "the program's value is larger than 16 MiB and "
			      "was dropped";
	r = publish(run, &res);
	if (r < 0) {
		snprintf(text, sizeof(text), "the result cannot be stored: %s",
			 strerror(-r));
		res.message = text;
		res.status = STATUS_FAILED;
		res.exit_code = status_exit_code(STATUS_FAILED, 0);
	}
	if (res.status == STATUS_FAILED || res.status == STATUS_INTERRUPTED)
		job_set_error(job, res.message);
	if (!job->output)
		job->output = node_root_new(run->d->nodes, job, AREA_OUTPUT,
					    run->number, false);
	job->meta.exit_code = res.exit_code;
	job->d->count.done[res.status]++;
	log_end(run, &res);
	job->run = NULL;
	job->has_results = true;
	job_post(job, res.status == STATUS_FAILED ||
				      res.status == STATUS_INTERRUPTED ||
				      res.status == STATUS_CANCELLED
			      ? EV_FAIL
			      : EV_END);
	run_free(run);
}
