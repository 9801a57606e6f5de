/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runner's control group. Its files are opened once, when the runner is
 * started, so setting a limit for a job is one write. Runs in init and in a
 * lane's agent.
 */
#ifndef GUEST_CGROUP_H
#define GUEST_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout/base/err.h"
#include "thrash.h"
#include "guest/wire/wire.h"

enum cgroup_file {
	CGROUP_PROCS,
	CGROUP_EVENTS,
	CGROUP_KILL,
	CGROUP_MEMORY_MAX,
	CGROUP_MEMORY_PEAK,
	CGROUP_MEMORY_EVENTS,
	CGROUP_MEMORY_STAT,
	CGROUP_PIDS_MAX,
	CGROUP_PIDS_PEAK,
	CGROUP_CPU_IDLE,
	CGROUP_CPU_MAX,
	CGROUP_CPU_STAT,
	CGROUP_FILE_MAX
};

struct cgroup {
	int fd[CGROUP_FILE_MAX]; /* owned; -1 if the kernel has no such file */
	uint64_t user_us, system_us; /* processor time when cgroup_mark() was called */
	uint64_t memory_max, pids_max; /* the values set last */
	/* bytes in memory when cgroup_mark_code() was called */
	uint64_t code_bytes, warm_bytes;
	/* the runner's own threads, which count for no job */
	unsigned own_tasks;
};

/* Enables the controllers for later groups, and makes the group of holders. */
int cgroup_setup(struct err *err);
/* Moves pid to a group of its own for heating, and back. So the memory and
 * number of the children that it forks meanwhile count for no job's peak. */
int cgroup_lend(pid_t pid);
int cgroup_take_back(struct cgroup *c, pid_t pid);
/*
 * Moves the caller's only child in the group other than `besides` to the group
 * of holders, if there is exactly one. There it cannot fork, and runs only when
 * the processor is idle.
 */
void cgroup_take_holder(struct cgroup *c, pid_t besides);
/* Returns whether a holder has used the processor since cgroup_mark(). */
bool cgroup_holders_ran(void);
/* Returns whether a holder's memory still exists. */
bool cgroup_holders_live(void);
void cgroup_kill_holders(void);
/* own_tasks: see struct cgroup. */
int cgroup_open(struct cgroup *c, const char *name, unsigned own_tasks,
		struct err *err);
void cgroup_close(struct cgroup *c);
/* Gives the group the lowest priority: it runs when no other group wants to. */
void cgroup_rest(struct cgroup *c);
int cgroup_limit(struct cgroup *c, const struct wire_job *job,
		 struct err *err);
/* Notes the processor time used so far, which is not the job's. From now on the runner
 * sleeps until the job or the next heat. */
void cgroup_mark(struct cgroup *c);
/*
 * Leaves the group's present memory out of a job's use: pages of files, since
 * the interpreter's own code is read for every job; and heap beyond plain_heap
 * bytes, which holds modules that were loaded for every job. A job may use its
 * whole limit in addition. plain_heap: heap of a fresh interpreter; UINT64_MAX:
 * leave no heap out.
 */
void cgroup_mark_code(struct cgroup *c, uint64_t plain_heap);
/*
 * Fills in the usage fields; WIRE_UNKNOWN if the kernel does not report them.
 * peak_memory_bytes is the group's peak minus what cgroup_mark_code() left out,
 * unless the kernel has dropped that code for lack of memory. It is never below
 * the peak of heating, which is 1 MiB (Node) to 4 MiB (Python) above the heap.
 */
void cgroup_usage(struct cgroup *c, struct wire_exit *ret);
/* Fills in ret if the group was ever at its memory limit. Return: whether it
 * was. */
bool cgroup_strain(struct cgroup *c, struct strain *ret);
bool cgroup_is_empty(struct cgroup *c);
/* Returns the number of processes in the group. */
uint32_t cgroup_count(struct cgroup *c);
/* Sends signal to all processes of the group. */
void cgroup_kill(struct cgroup *c, int signal);
/* Kills all its processes; they use the processor for that only when it is
 * idle. */
void cgroup_abandon(struct cgroup *c);

#endif
