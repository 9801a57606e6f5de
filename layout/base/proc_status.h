/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID/status says of the rights of a process. What it does not say
 * counts as the worst that it could. */
#ifndef LAYOUT_PROC_STATUS_H
#define LAYOUT_PROC_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_STATUS_MAX 8192u /* room for a text; what counts comes early */

struct proc_status {
	unsigned uid[4], gid[4]; /* real, effective, saved, of files */
	bool groups;             /* it has supplementary ones */
	uint64_t caps;           /* those of all sets together */
	unsigned no_new_privs;   /* 1: it has */
	unsigned seccomp;        /* 2: it has a filter, */
	unsigned filters;        /* so many; 0: the kernel does not tell */
};

void proc_status_parse(const char *text, struct proc_status *ret);

/* Are all four of [first, first + count)? */
bool proc_ids_are(const unsigned id[4], unsigned first, unsigned count);

#endif
