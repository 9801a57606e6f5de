/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses /proc/PID/status for the rights of a process. A missing line counts as
 * the worst value. Pure.
 */
#ifndef LAYOUT_PROC_STATUS_H
#define LAYOUT_PROC_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_STATUS_MAX 8192u /* size for a text; the lines needed come early */

struct proc_status {
	unsigned uid[4], gid[4]; /* real, effective, saved, filesystem */
	bool groups; /* the process has supplementary groups */
	uint64_t caps; /* the capabilities of all sets together */
	unsigned no_new_privs; /* 1: set */
	unsigned seccomp; /* 2: it has a filter */
	unsigned filters; /* number of filters; 0: not known */
};

void proc_status_parse(const char *text, struct proc_status *ret);

/* Returns whether all four ids are in [first, first + count). */
bool proc_ids_are(const unsigned id[4], unsigned first, unsigned count);

#endif
