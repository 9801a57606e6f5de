/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups of a shared machine. One holds all that runs for the host's
 * jobs and has the machine's limits. Below it each lane has a group for each time
 * that it is opened, with a number that never comes again: what a lane leaves
 * running keeps its group when the lane's number has another job.
 */
#ifndef GUEST_SHARE_H
#define GUEST_SHARE_H

#include <stdbool.h>
#include <sys/types.h>

#include "layout/base/err.h"
#include "guest/wire/wire.h"

#define SHARE_GROUP_ROOM 32

/* Makes the group with these limits. Once. */
int share_open(const struct wire_share *share, struct err *err);
/* So many of the runners' own threads count for no job. Errors are left: the
 * limit is then a little lower. */
void share_allow(const struct wire_share *share, unsigned own_tasks);
/* The name of a lane's group, as cgroup_open() takes it. */
void share_group(unsigned serial, char ret[SHARE_GROUP_ROOM]);
void share_kill(unsigned serial);
/* Removes an empty group. Return: is it gone? */
bool share_remove(unsigned serial);
/* The serial of the group that a process is in, or 0: it is in none of them. */
unsigned share_serial_of(pid_t pid);

#endif
