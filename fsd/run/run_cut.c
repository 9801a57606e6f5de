/* SPDX-License-Identifier: Apache-2.0 */
/* What the limits of a job have ended, dropped or left out is told: in the log
 * and in result.json. */
#include <inttypes.h>
#include <string.h>

#include "run_int.h"

#define LOGGED_MOST 32 /* entries of the output tree */

static const char *const left_reasons[WIRE_LEFT_MAX] = {
	[WIRE_LEFT_LIMIT] = "over output_limit",
	[WIRE_LEFT_MANY] = "too many files",
	[WIRE_LEFT_LINK] = "a link that leads outside of the job",
	[WIRE_LEFT_SPECIAL] = "a device, a socket or a fifo",
	[WIRE_LEFT_DEEP] = "its path is too long or too deep",
	[WIRE_LEFT_UNREAD] = "it could not be read",
};

const char *run_left_reason(uint32_t left)
{
	return left < WIRE_LEFT_MAX ? left_reasons[left] : "?";
}

static void remember(struct run *run, const char *path, uint64_t bytes,
		     const char *reason)
{
	if (run->left_count == LIMIT_LEFT_OUT)
		return;
	if (!run->left)
		run->left = calloc(LIMIT_LEFT_OUT, sizeof(*run->left));
	if (!run->left)
		return;
	run->left[run->left_count] = (struct result_left){
		.path = arena_text(&run->texts, path),
		.bytes = MIN(bytes, (uint64_t)INT64_MAX), .reason = reason,
	};
	run->left_count += !!run->left[run->left_count].path;
}

void run_left_out(struct run *run, const char *path, uint64_t bytes,
		  const char *reason)
{
	auto_buf struct buf name = { 0 };

	remember(run, path, bytes, reason);
	run->output_dropped++;
	if (run->left_count > LOGGED_MOST)
		return;
	result_show_name(&name, path);
	job_log(run->job, "output/%s was left out: %s",
		name.failed ? "?" : name.data, reason);
}

/* --- the end ----------------------------------------------------------------- */

static void say_end(const struct run *run, struct buf *out)
{
	const struct job_config *c = run->spec.config;
	enum job_status status = run->end.res.status;

	if (!c)
		return;
	if (status == STATUS_TIMEOUT)
		buf_fmt(out, "over its %g s (timeout)",
			(double)c->timeout_ms / 1000);
	else if (status == STATUS_OUT_OF_MEMORY)
		buf_fmt(out, "needed more than %" PRIu64 " MiB (memory_mb)",
			(uint64_t)(run->vm_job.wire.memory_bytes >> 20));
}

/* One sentence of the message, which may be in the log as well. */
static void add(struct run *run, struct buf *out, const struct buf *sentence,
		bool log)
{
	if (!sentence->len || sentence->failed)
		return;
	buf_fmt(out, "%s%s", out->len ? "; " : "", sentence->data);
	if (log)
		job_log_line(&run->lines.log, "%s", sentence->data);
}

static void add_stream(struct run *run, struct buf *out,
		       const struct run_stream *s, const char *name)
{
	auto_buf struct buf cut = { 0 };

	if (s->dropped == RESULT_UNKNOWN)
		return; /* the disk failed, which is told */
	if (s->dropped > s->unpaid)
		buf_fmt(&cut, "%s: %" PRIu64 " bytes over %s_limit were dropped",
			name, s->dropped - s->unpaid, name);
	add(run, out, &cut, true);
}

static void add_tree(struct run *run, struct buf *out)
{
	auto_buf struct buf text = { 0 };

	if (run->output_dropped == 1)
		buf_str(&text, "output: 1 entry was left out "
			"(output_left_out)");
	else if (run->output_dropped)
		buf_fmt(&text, "output: %" PRIu64 " entries were left out "
			"(output_left_out)", run->output_dropped);
	add(run, out, &text, true);
}

static void add_value(struct run *run, struct buf *out)
{
	auto_buf struct buf text = { 0 };

	if (run->guest_overflow && !run->over_quota)
		buf_str(&text, "the program's value is larger than 16 MiB and "
			"was dropped");
	add(run, out, &text, true);
}

void run_say_cuts(struct run *run)
{
	struct run_end *end = &run->end;
	auto_buf struct buf all = { 0 }, why = { 0 }, before = { 0 },
			    quota = { 0 };

	if (end->cuts_said)
		return; /* its end is tried again */
	end->cuts_said = true;
	if (end->res.message)
		buf_str(&before, end->res.message);
	if (run->over_quota)
		buf_str(&quota, "some of the output is left out: "
			RUN_OVER_QUOTA);
	say_end(run, &why);
	add(run, &all, &why, false); /* the log's last line has it */
	add(run, &all, &before, false);
	add(run, &all, &quota, false); /* it was said when it came to that */
	add_stream(run, &all, &run->stream[VM_OUT], "stdout");
	add_stream(run, &all, &run->stream[VM_ERR], "stderr");
	add_tree(run, &all);
	add_value(run, &all);
	if (!all.len || all.failed)
		return;
	snprintf(end->message, sizeof(end->message), "%s", all.data);
	end->res.message = end->message;
}
