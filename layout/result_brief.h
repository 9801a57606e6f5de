/* SPDX-License-Identifier: Apache-2.0 */
/* What a client of a mount says of a result.json. Pure. */
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
	struct buf text;     /* of a cell's value, as it is; "" for null */
	struct buf value;    /* of a call, JSON in one line; "" for null */
	struct buf error;    /* what ended the program, in lines; "" for null */
	char session[72], session_state[8]; /* "kept", "lost"; "": it has none */
	uint64_t stdin_read;
	uint64_t stdout_dropped, stderr_dropped, output_dropped;
	uint64_t output_count; /* entries of `output` */
	uint64_t run_ms;
	char environment[72];  /* ""; none, or the interpreter was warm, or it is a shell's */
	struct buf fresh_why;  /* why its interpreter was begun for this run */
	/* The first of output_left_out, a line each: path, bytes, reason. */
	struct buf left_out;
	unsigned left_out_count; /* lines */
};

/* What is missing, or of another type, is empty or 0. Return: 0, -EINVAL: it is no
 * JSON object, -ENOMEM. Then, too, result_brief_done(). */
int result_brief_read(const char *data, size_t len, struct result_brief *ret);
/* Was the path, or something in it, left out of output/? Also true if the list of what was
 * left out is not whole. path: relative, any bytes. */
bool result_leaves_out(const char *data, size_t len, const char *path);
/* Is the job of that config.json a cell? Only then its error is not in stderr, too. */
bool result_is_cells(const char *config, size_t len);
void result_brief_done(struct result_brief *b);

#endif
