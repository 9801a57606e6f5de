/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the parts of result.json that a client of a mount prints. Pure. */
#ifndef LAYOUT_RESULT_BRIEF_H
#define LAYOUT_RESULT_BRIEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout/base/buf.h"

#define RESULT_LEFT_OUT_SAID 10u

struct result_brief {
	char status[24];     /* "exited", "timeout", ...; "": not known */
	struct buf message;  /* "" for null */
	struct buf text; /* a cell's value as text; "" for null */
	struct buf value; /* a call's value, JSON on one line; "" for null */
	struct buf error; /* the program's error as lines; "" for null */
	/* session_state: "kept", "lost"; both "": the job has no session. */
	char session[72], session_state[8];
	uint64_t stdin_read;
	uint64_t stdout_dropped, stderr_dropped, output_dropped;
	uint64_t output_count; /* entries of `output` */
	uint64_t run_ms;
	/* name of the environment; "": there is none, or its interpreter was warm, or the
	 * program is a shell's */
	char environment[72];
	struct buf fresh_why; /* why a fresh interpreter was started */
	/* The first entries of output_left_out, a line each: path, bytes,
	 * reason. */
	struct buf left_out;
	unsigned left_out_count; /* lines */
};

/*
 * Parses result.json. A missing member, or one of another type, is empty or 0.
 * Return: 0, -EINVAL: it is no JSON object, -ENOMEM. Always call
 * result_brief_done().
 */
int result_brief_read(const char *data, size_t len, struct result_brief *ret);
/* Returns whether the path, or a part of it, was left out of output/; true also
 * if the list of left-out entries is not complete. path: relative, any bytes. */
bool result_leaves_out(const char *data, size_t len, const char *path);
/*
 * Returns whether config is a cell's. Only a cell's error is missing in stderr.
 */
bool result_is_cells(const char *config, size_t len);
void result_brief_done(struct result_brief *b);

#endif
