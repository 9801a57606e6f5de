/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job on a lane of a shared machine: what is other than with a machine of its
 * own. It shares its home with others, so
 *   - a program's own file, code.EXT, lies there as .code-LANE.EXT, and the
 *     input.json of a call as .input-LANE.json, until the job ends. A step's lies
 *     in the job's directory, and is called code.EXT as ever
 *   - nothing is compared with what was there before, and no tree is sent: only
 *     what a cell has put on its shelf
 *   - a runner is started when the job comes, unless one was waiting
 *   - what the program leaves running lives on
 */
#ifndef GUEST_LANE_H
#define GUEST_LANE_H

#include "job.h"

#define LANE_ROOT "/run/lane"

/* Where the lanes' directories lie. Once. */
int lane_mount(struct err *err);
/* Makes a job that of this lane, with an empty directory. */
int lane_open(struct job *job, unsigned lane, unsigned serial,
	      enum wire_runner kind, struct err *err);
/* Removes the directory. */
void lane_remove(const struct job *job);

/* Return: the runner of spec on a lane, if one of that kind waits or not. */
enum wire_runner lane_kind(const struct wire_job *spec, const bool *waits);
/*
 * At JOB: makes of spec what the lane runs, and has its runner there, which may
 * take as long as to start an interpreter. Return: 0, or why it cannot run.
 */
int lane_begin(struct job *job, struct runner *runners, struct err *err);
/* At RUN: may the user go to where the job starts? */
int lane_check_cwd(const struct job *job, struct err *err);
/* The job's own files are gone. */
void lane_clean(struct job *job);
/* At the job's end: the shelf is sent and the job's own files are gone. Return: 0 or
 * the port's error. */
int lane_end(struct job *job, struct port *port);

#endif
