/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One control group per runner. Its files are opened once, when the runner is
 * started: on a job's hot path a limit is one write.
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
	uint64_t user_us, system_us; /* at cgroup_mark() */
	uint64_t memory_max, pids_max; /* as set last */
	uint64_t code_bytes, warm_bytes; /* at cgroup_mark_code() */
	unsigned own_tasks;              /* the runner's, which count for no job */
};

/* Switches the controllers on for the groups to come, and makes the holders'
 * group. */
int cgroup_setup(struct err *err);
/*
 * For heating that is done by children of pid: they and it are in a group of
 * their own meanwhile, so their memory and number are no peak of a job's.
 */
int cgroup_lend(pid_t pid);
int cgroup_take_back(struct cgroup *c, pid_t pid);
/*
 * Moves the caller's only child there but `besides`, if there is just one, to the
 * holders' group: it may not fork there, and runs when nobody else wants to.
 */
void cgroup_take_holder(struct cgroup *c, pid_t besides);
/* Has a holder used the processor since cgroup_mark()? */
bool cgroup_holders_ran(void);
/* Is the memory of one still there? */
bool cgroup_holders_live(void);
void cgroup_kill_holders(void);
/* own_tasks: see above. */
int cgroup_open(struct cgroup *c, const char *name, unsigned own_tasks,
		struct err *err);
void cgroup_close(struct cgroup *c);
/* It runs only when no other group wants to. */
void cgroup_rest(struct cgroup *c);
int cgroup_limit(struct cgroup *c, const struct wire_job *job,
		 struct err *err);
/* The time used until now is not the job's. From here on the runner sleeps
 * until the job or the next heating. */
void cgroup_mark(struct cgroup *c);
/*
 * Leaves the group's memory of this moment out of a job's use.
 * Pages of files are the interpreter's own code, which it has read for all.
 * The heap beyond plain_heap bytes holds modules that it has loaded for all; a
 * job may use its whole limit besides. plain_heap is the size of a fresh
 * interpreter's heap, or UINT64_MAX to count the heap as it is.
 */
void cgroup_mark_code(struct cgroup *c, uint64_t plain_heap);
/*
 * Fills the usage fields; WIRE_UNKNOWN where the kernel does not say.
 * peak_memory_bytes is the group's peak without what cgroup_mark_code() left
 * out, so far as its code was not taken away for lack of memory. The peak of
 * its heating, of 1 (Node) to 4 MiB (Python) more than its heap, is the least.
 */
void cgroup_usage(struct cgroup *c, struct wire_exit *ret);
/* Return: was it at its limit at all? If not, the rest is not filled in. */
bool cgroup_strain(struct cgroup *c, struct strain *ret);
bool cgroup_is_empty(struct cgroup *c);
/* Return: how many processes are in it. */
uint32_t cgroup_count(struct cgroup *c);
/* Kills all with signal. */
void cgroup_kill(struct cgroup *c, int signal);
/* Kills all, who die only when nobody else wants the processor. */
void cgroup_abandon(struct cgroup *c);

#endif
