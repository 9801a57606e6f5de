/* SPDX-License-Identifier: Apache-2.0 */
/* Renders result.json and other results of a run. Pure. */
#ifndef LAYOUT_RESULT_H
#define LAYOUT_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "layout/base/buf.h"
#include "state.h"

#define RESULT_UNKNOWN UINT64_MAX /* rendered as null */

struct result_file {
	/* borrowed; any bytes: those that are not UTF-8 are escaped */
	const char *path;
	uint64_t bytes;
	const char *target; /* a link's, else NULL; any bytes */
	uint32_t mode;    /* 07777; rendered as octal text "0644" */
	/* a directory: mime "inode/directory"; a link: "inode/symlink" */
	bool is_dir;
};

/* An entry that is missing in output/, and the reason. */
struct result_left {
	const char *path;   /* borrowed; any bytes */
	uint64_t bytes;
	const char *reason; /* a constant */
};

/* An earlier run of the same submission, which fsd failed. */
struct result_attempt {
	bool known; /* false: all other fields are not known, and rendered as null */
	enum job_status status;
	const char *message; /* NULL: no message */
	uint64_t started_ns, ended_ns; /* CLOCK_REALTIME; 0: null */
};

/* A connection of the program, or one that it did not get. */
struct result_connection {
	const char *host;    /* host name as the program gave it; NULL: not known */
	unsigned port;       /* port of the server; 0: the program only looked up a
			      * name */
	const char *address; /* NULL: no address */
	uint64_t sent, received, ms; /* RESULT_UNKNOWN: still open, or not made */
	const char *verdict; /* a constant: "ok", "denied" ... */
	const char *reason;  /* NULL: no reason */
};

struct result_network {
	uint64_t sent, received; /* bytes of all connections */
	const struct result_connection *connections;
	unsigned count;
	uint64_t dropped; /* connections that are not listed */
};

/* Connections of other programs to one port of the program. */
struct result_port {
	unsigned port;
	uint64_t connections;    /* those that have ended */
	uint64_t sent, received; /* bytes of these, as the program in the machine sees them */
};

struct job_result {
	const char *job; /* the name that the user gave it */
	const char *id;
	const char *language; /* NULL: a command or a #! program */
	enum job_status status;
	unsigned exit_code;
	unsigned signal;      /* 0: none */
	const char *message;  /* NULL: no message */
	int program_exit_code; /* -1: none */
	unsigned attempt; /* number of this run within its submission, from 1 */
	const struct result_attempt *attempts; /* the attempt-1 earlier runs */
	uint64_t stdin_read;   /* bytes of an open standard input */
	uint64_t stdout_bytes, stdout_dropped; /* bytes kept; bytes dropped */
	uint64_t stderr_bytes, stderr_dropped;
	const struct result_file *output;
	unsigned output_count;
	uint64_t output_dropped;
	const struct result_left *left; /* the first ones of output_dropped */
	unsigned left_count;
	/*
	 * The payload of the guest's RESULT frame: a JSON object with "value" or
	 * "error". The guest has made it, so it is hostile. If it is not valid,
	 * too deep or too big, both are null and message says so. A rich result
	 * is left out if its path is no file of output.
	 */
	const char *guest_json;
	size_t guest_len;
	uint64_t wall_ms, user_ms, system_ms, peak_memory_bytes, peak_processes;
	uint64_t queued_ms, machine_ms, run_ms, collect_ms, total_ms;
	const char *session;       /* the session's name, or NULL */
	const char *session_state; /* "kept", "lost", or NULL */
	uint64_t step; /* number within its session, from 1; 0: none */
	const char *environment; /* name; NULL: not known */
	const char *environment_id; /* NULL: the environment is base */
	int warm; /* whether the interpreter was warm: 1, 0; -1: it had none */
	const char *why; /* why the interpreter was not warm, or NULL */
	const char *source, *accel, *template_id; /* NULL: the run had no machine */
	/* Required walls that did not stand around the machine; ends with NULL.
	 * NULL: not known. */
	const char *const *missing_walls;
	const struct result_network *network; /* NULL: the run had no network, or that is
					       * not known */
	const struct result_port *ports; /* NULL: the run had none */
	unsigned port_count;
	uint64_t created_ns, started_ns, ended_ns; /* CLOCK_REALTIME; 0: null */
	uint64_t kept_until_ns; /* CLOCK_REALTIME; 0: for ever, null */
};

/* Renders the whole document with a final newline. A buffer without a cap gets
 * LIMIT_RESULT_BYTES. Return: 0, -ENOMEM, -EFBIG. */
int result_render(const struct job_result *result, struct buf *out);

/* Appends a connection as a JSON object on one line. */
void result_connection_put(struct buf *out, const struct result_connection *c);

/* Appends a name for people: bytes that are not UTF-8, control characters and
 * "%" become %XX; a long name is cut and ends with "...". */
void result_show_name(struct buf *out, const char *name);

/* Returns the type by the name's extension; "application/octet-stream" if
 * unknown. */
const char *mime_by_name(const char *path);

/* Renders a time: RFC 3339, UTC, milliseconds: "2026-01-02T03:04:05.678Z". */
void time_render(uint64_t realtime_ns, char room[32]);

#endif
