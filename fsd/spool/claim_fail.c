/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the results of an entry that has no job's results: result.json with the same
 * keys as a job's, and the sentence in `error`. A file of its own because it renders
 * JSON, for which fsd has no library on systems other than Linux.
 */
#include "claim.h"

#include <stdio.h>
#include <string.h>

int claim_fail(struct claim *c, enum job_status status, const char *sentence)
{
	char job[CLAIM_ID + 8];
	const struct job_result result = {
		.job = job, .id = "", .status = status,
		.exit_code = status_exit_code(status, 0), .message = sentence,
		.program_exit_code = -1, .attempt = 1,
		.stdout_bytes = RESULT_UNKNOWN, .stderr_bytes = RESULT_UNKNOWN,
		.wall_ms = RESULT_UNKNOWN, .user_ms = RESULT_UNKNOWN,
		.system_ms = RESULT_UNKNOWN, .peak_memory_bytes = RESULT_UNKNOWN,
		.peak_processes = RESULT_UNKNOWN, .queued_ms = RESULT_UNKNOWN,
		.machine_ms = RESULT_UNKNOWN, .run_ms = RESULT_UNKNOWN,
		.collect_ms = RESULT_UNKNOWN, .total_ms = RESULT_UNKNOWN, .warm = -1,
	};
	auto_buf struct buf json = { 0 }, line = { 0 };
	char code[16];
	int r;

	snprintf(job, sizeof(job), "spool-%s", c->id);
	snprintf(code, sizeof(code), "%u\n", result.exit_code);
	r = result_render(&result, &json);
	buf_fmt(&line, "%s\n", sentence);
	claim_clear_results(c);
	if (r == 0)
		r = line.failed;
	if (r == 0)
		r = claim_write(c, "error", line.data, line.len);
	if (r == 0)
		r = claim_write(c, "result.json", json.data, json.len);
	return r ? r : claim_write_exit_code(c, code);
}
