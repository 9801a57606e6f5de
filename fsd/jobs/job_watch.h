/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watchers of jobs: how rooms above this one learn of a change, so that this room
 * calls none of them by name. The server passes one constant list to jobs_new();
 * no watcher comes or goes later.
 *
 * Context: the loop's thread, in the order of the list. A callback returns at once,
 * unless its line says that a fiber may wait there. A callback that is NULL is
 * skipped.
 */
#ifndef FSD_JOB_WATCH_H
#define FSD_JOB_WATCH_H

#include "job.h"

struct job_watcher {
	/* The job is in the table now. Do not announce the results that it shows: they
	 * are old. */
	void (*known)(struct job *job);
	/* Something changed that a reader may wait for. */
	void (*changed)(struct job *job);
	/* A state was entered; the same state may be entered twice. */
	void (*entered)(struct job *job);
	/* This virtual file has more bytes. */
	void (*grew)(struct job *job, enum job_vfile vfile);
	/* The job is about to be removed, or the server ends: stop its run. A fiber
	 * may wait. */
	void (*leaving)(struct job *job);
	/* The store could not remove the job, so the job stays. A fiber may wait. */
	void (*stays)(struct job *job);
	/* The job was removed; job->removed is true. */
	void (*removed)(struct job *job);
	/* The server ends and the job stays in the store; job->removed is true. */
	void (*unloaded)(struct job *job);
	/* Asks for the removal of the job through the mount. Return: false if this
	 * cannot be done now. At most one watcher of a list has it. */
	bool (*ask_removal)(struct job *job);
};

/* Calls every watcher's `changed` or `grew`. From the loop or a fiber. */
void job_changed(struct job *job);
void job_grew(struct job *job, enum job_vfile vfile);

#endif
