/* SPDX-License-Identifier: Apache-2.0 */
/* result.json, exit_code: what is known about a run, rendered. Pure. */
#ifndef LAYOUT_RESULT_H
#define LAYOUT_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "layout/base/buf.h"
#include "state.h"

#define RESULT_UNKNOWN UINT64_MAX /* rendered as null */

struct result_file {
	const char *path; /* borrowed; any bytes: those that are no UTF-8 are escaped */
	uint64_t bytes;
	const char *target; /* of a link, else NULL; any bytes */
	uint32_t mode;    /* 07777; rendered as octal text "0644" */
	bool is_dir;      /* mime "inode/directory", of a link inode/symlink */
};

/* An entry that is not in output/, and why. */
struct result_left {
	const char *path;   /* borrowed; any bytes */
	uint64_t bytes;
	const char *reason; /* a constant */
};

/* An earlier run of the same submission, which the appliance failed. */
struct result_attempt {
	bool known;          /* else it is all null */
	enum job_status status;
	const char *message; /* or NULL */
	uint64_t started_ns, ended_ns; /* CLOCK_REALTIME; 0: null */
};

struct job_result {
	const char *job;      /* the user's name for it */
	const char *id;
	const char *language; /* or NULL */
	enum job_status status;
	unsigned exit_code;
	unsigned signal;      /* 0: none */
	const char *message;  /* or NULL */
	int program_exit_code; /* -1: none */
	unsigned attempt;      /* 1..: which run of this submission it was, */
	const struct result_attempt *attempts; /* and those before: attempt-1 */
	uint64_t stdin_read;   /* bytes of an open standard input */
	uint64_t stdout_bytes, stdout_dropped; /* kept, dropped */
	uint64_t stderr_bytes, stderr_dropped;
	const struct result_file *output;
	unsigned output_count;
	uint64_t output_dropped;
	const struct result_left *left; /* the first of those */
	unsigned left_count;
	/* The bytes of RESULT: a JSON object with "value" or "error", chosen by
	 * the guest, so hostile. Not valid, too deep, too big: both null and
	 * message says so. A rich result's path that is no file of output is
	 * left out. */
	const char *guest_json;
	size_t guest_len;
	uint64_t wall_ms, user_ms, system_ms, peak_memory_bytes, peak_processes;
	uint64_t queued_ms, machine_ms, run_ms, collect_ms, total_ms;
	const char *session;       /* its name, or NULL */
	const char *session_state; /* "kept", "lost", or NULL */
	uint64_t step;             /* of its session, from 1; 0: none */
	const char *environment;    /* its name; NULL: not known, */
	const char *environment_id; /* and NULL: base */
	int warm;         /* its interpreter was: 1, 0; -1: it had none */
	const char *why;  /* it was not; or NULL */
	const char *source, *accel, *template_id; /* or NULL */
	/* Walls around the machine that were required and did not stand; NULL:
	 * it is not known. */
	const char *const *missing_walls; /* NULL at the end */
	uint64_t created_ns, started_ns, ended_ns; /* CLOCK_REALTIME; 0: null */
	uint64_t kept_until_ns;    /* likewise; 0: for ever, null */
};

/* The whole document with a final newline. An out without a cap of its own gets
 * LIMIT_RESULT_BYTES. Return: 0, -ENOMEM, -EFBIG. */
int result_render(const struct job_result *result, struct buf *out);

/*
 * A name for people: what is no UTF-8, a control character or "%" becomes %XX,
 * and what is behind the first bytes "...".
 */
void result_show_name(struct buf *out, const char *name);

/* By the name's ending; "application/octet-stream" if unknown. */
const char *mime_by_name(const char *path);

/* RFC 3339, UTC, milliseconds: "2026-01-02T03:04:05.678Z". */
void time_render(uint64_t realtime_ns, char room[32]);

#endif
