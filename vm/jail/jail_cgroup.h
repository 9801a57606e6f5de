/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups of machines. Version 2: in the daemon's own group when that
 * was given to it to divide (systemd's Delegate=yes), else at the top; version
 * 1, where that is what the host has: below the daemon's own. A group belongs
 * to a slot and is used again by the slot's next machine.
 */
#ifndef VM_JAIL_CGROUP_H
#define VM_JAIL_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "layout/base/err.h"
#include "walls.h"

#define CGROUP_PATH_MAX 700
#define CGROUP_TREES 3 /* v1: memory, pids, cpu; v2: one */

struct jail_cgroups {
	int base[CGROUP_TREES];   /* our own directories, owned; -1: none */
	int parent[CGROUP_TREES]; /* where they are, owned */
	char name[32];            /* their name there */
	bool v2;
	bool cpu;                 /* processor time is bounded, too */
};

/*
 * Files that let a process into a slot's groups. Version 1: tasks, where a
 * process with one thread puts itself by writing "0". To move anybody else the
 * kernel first waits until no process forks, 5 to 10 ms; who moves itself does
 * not. Version 2: cgroup.procs, where there is no such way.
 */
struct jail_groups {
	int fd[CGROUP_TREES]; /* owned */
	unsigned count;       /* 0: there are no groups */
	bool by_itself;
};

/* Our group in the hierarchy of a controller ("" for version 2). Return: false:
 * it is not told, and ret is "/". */
bool jail_cgroup_own(const char *controller, char *ret, size_t size);
/* Makes ours, removes those that dead daemons left; tells by *w. */
void jail_cgroups_open(struct jail_cgroups *c, struct walls *w);
/* Removes ours; machines must be gone. */
void jail_cgroups_close(struct jail_cgroups *c);
/* Sets the slot's limits. Return: 0 with *ret, also without groups; a negative
 * errno, and there is nothing to close. */
int jail_cgroups_slot(struct jail_cgroups *c, unsigned slot,
		      unsigned memory_mib, unsigned cpus,
		      struct jail_groups *ret);
/* Puts pid there, unless it goes by itself. Return: 0 or a negative errno. */
int jail_groups_put(const struct jail_groups *g, pid_t pid);
void jail_groups_close(struct jail_groups *g);
/* Is pid in the slot's groups? Also without groups. */
bool jail_cgroups_hold(const struct jail_cgroups *c, unsigned slot, pid_t pid);
/*
 * The slot's group is not used again; a no-op while somebody is in it. What a
 * process wrote to files in memory stays charged to its group when it ends.
 */
void jail_cgroups_leave(struct jail_cgroups *c, unsigned slot);

#endif
