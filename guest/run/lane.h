/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job on a lane of a shared machine: how it differs from a job with a machine
 * of its own. It shares its home with others, so
 *
 *   - a program's own file, code.EXT, lies there as .code-LANE.EXT, and the
 *     input.json of a call as .input-LANE.json, until the job ends. A step's
 *     file lies in the job's directory and is called code.EXT
 *   - no file is compared with the inputs, and no output tree is sent: only the
 *     large results of a cell, from a directory called shelf
 *   - a runner is started when the job comes, unless one was waiting
 *   - processes that the program leaves behind live on
 */
#ifndef GUEST_LANE_H
#define GUEST_LANE_H

#include "job.h"

#define LANE_ROOT "/run/lane"

/* Mounts the directory of the lanes' directories; call it once, in init. */
int lane_mount(struct err *err);
/* Makes `job` the job of this lane, with an empty directory. */
int lane_open(struct job *job, unsigned lane, unsigned serial,
	      enum wire_runner kind, struct err *err);
/* Removes the directory. */
void lane_remove(const struct job *job);

/* Returns the kind of runner that runs spec on a lane. waits[kind]: a runner of that
 * kind is waiting. */
enum wire_runner lane_kind(const struct wire_job *spec, const bool *waits);
/*
 * Handles JOB: adapts spec to the lane and waits for its runner, which may have
 * to start an interpreter.
 * Return: 0, or why it cannot run.
 */
int lane_begin(struct job *job, struct runner *runners, struct err *err);
/* Handles RUN: checks whether the user may enter the job's start directory. */
int lane_check_cwd(const struct job *job, struct err *err);
/* Removes the job's own files. */
void lane_clean(struct job *job);
/* Ends the job: sends the cell's large results and removes its own files.
 * Return: 0 or the port's error. */
int lane_end(struct job *job, struct port *port);

#endif
