/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files of a job once, for commands that show jobs. The job may change or
 * disappear at any moment, so each part may be missing.
 */
#ifndef FSD_JOB_VIEW_H
#define FSD_JOB_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout/layout.h"
#include "where.h"

struct job_view {
	int state;            /* enum job_state; -1: the job is gone */
	int exit_code;        /* -1: none */
	char status[24];      /* from result.json; "": unknown */
	char message[512];    /* from result.json, as one line; "": none */
	char language[24];
	char error[512];      /* the first sentence of error; "": none */
	char waits[512];      /* what a draft or a queued job waits for, by its log */
	int64_t wall_ms, cpu_ms, peak_bytes; /* -1: not known */
	int64_t memory_mb, priority; /* from config.json, or the defaults */
	uid_t uid;
	int64_t since_ms;     /* when the job entered its present state */
	int64_t queued_ms;    /* when the job was queued */
	int64_t started_ms;   /* when it began. These three: wall clock, 0: not known */
};

/* Reads the job in the directory dir. Return: 0; -ENOENT: it was removed; or another
 * negative errno. *ret has the parts that could be read. */
int job_view_read(int dir, struct job_view *ret);

/* True if the job has ended by itself, with exit code 0. */
bool job_view_is_good(const struct job_view *v);

/* Appends "NAME: STATE, ..." in one line without its end, for a person. */
void job_view_line(const char *name, const struct job_view *v, struct buf *out);
/* Like job_view_line(), as a JSON object. path: of the job's directory. */
void job_view_json(const char *path, const char *name, const struct job_view *v,
		   struct buf *out);
/* Return: why the job is in its state: its error, its message, or what it waits for; "":
 * unknown. */
const char *job_view_reason(const struct job_view *v);

/* Writes a duration for a person: "120 ms", "3.2 s", "5 min", "2 h", "4 d". */
void job_view_age(int64_t ms, char ret[32]);
/* Wall clock now, in milliseconds. */
int64_t job_view_now_ms(void);

/* Reads a small file of the job as text. Return: its length, -ENOENT and the
 * like. */
ssize_t job_view_text(int dir, const char *name, char *ret, size_t size);

#endif
