/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups of machines. Version 2: below the server's own group if that
 * was delegated to it (systemd's Delegate=yes), else at the top. Version 1, if
 * the host has only that: below the server's own group. Each slot has a group,
 * which the slot's next machine uses again.
 */
#ifndef VM_JAIL_CGROUP_H
#define VM_JAIL_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "layout/base/err.h"
#include "walls.h"

#define CGROUP_PATH_MAX 700
#define CGROUP_TREES 3 /* version 1: memory, pids, cpu; version 2: one */

struct jail_cgroups {
	int base[CGROUP_TREES]; /* directories of our groups, owned; -1: none */
	int parent[CGROUP_TREES]; /* the directories around them, owned */
	char name[32]; /* their name */
	bool v2;
	bool cpu; /* processor time is limited, too */
};

/*
 * Files that move a process into a slot's groups. Version 1: `tasks`; a process
 * with one thread writes "0" to move itself. That takes no time. Moving another
 * process takes 5 to 10 ms, because the kernel first waits until no process
 * forks. Version 2: `cgroup.procs`, which has no such fast way.
 */
struct jail_groups {
	int fd[CGROUP_TREES]; /* owned */
	unsigned count; /* 0: there are no groups */
	bool by_itself;
};

/* Finds this process's group in the hierarchy of a controller ("" for version
 * 2). Return: false: not known, and ret is "/". */
bool jail_cgroup_own(const char *controller, char *ret, size_t size);
/* Makes our groups, removes those of dead servers, and reports in *w. */
void jail_cgroups_open(struct jail_cgroups *c, struct walls *w);
/* Removes our groups; all machines must have ended. */
void jail_cgroups_close(struct jail_cgroups *c);
/* Limits of a slot's process. */
struct jail_limits {
	unsigned memory_mib;
	unsigned cpus; /* processors whose time it may use */
	unsigned threads;
};

/* Sets the slot's limits. Return: 0 with *ret, also if there are no groups; or
 * a negative errno, and *ret need not be closed. */
int jail_cgroups_slot(struct jail_cgroups *c, unsigned slot,
		      const struct jail_limits *limits,
		      struct jail_groups *ret);
/* Moves pid into the groups, unless a process must do that itself (by_itself). Return: 0
 * or a negative errno. */
int jail_groups_put(const struct jail_groups *g, pid_t pid);
void jail_groups_close(struct jail_groups *g);
/* Returns whether pid is in the slot's groups. True if there are no groups. */
bool jail_cgroups_hold(const struct jail_cgroups *c, unsigned slot, pid_t pid);
/* Removes the slot's groups, if no process is in them. Call it because files in
 * memory that a process wrote stay charged to its group after its end. */
void jail_cgroups_leave(struct jail_cgroups *c, unsigned slot);

#endif
