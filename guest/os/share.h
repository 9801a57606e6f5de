/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups of a shared machine. One group has the machine's limits and holds
 * the processes of all jobs. Below it, each lane gets a new group whenever it is
 * opened, with a serial number that is never used again. So processes that a lane left
 * behind keep their group when the lane is opened again. Runs in init.
 */
#ifndef GUEST_SHARE_H
#define GUEST_SHARE_H

#include <stdbool.h>
#include <sys/types.h>

#include "layout/base/err.h"
#include "guest/wire/wire.h"

#define SHARE_GROUP_ROOM 32

/* Makes the group of the whole machine with these limits; call it once. */
int share_open(const struct wire_share *share, struct err *err);
/* Sets the limit of processes to share's plus own_tasks, the runners' own threads,
 * which count for no job. Ignores errors: the limit is then a little lower. */
void share_allow(const struct wire_share *share, unsigned own_tasks);
/* Returns the name of a lane's group for cgroup_open(). */
void share_group(unsigned serial, char ret[SHARE_GROUP_ROOM]);
void share_kill(unsigned serial);
/* Removes an empty group. Return: whether it is gone. */
bool share_remove(unsigned serial);
/* Returns the serial of the group that a process is in; 0: it is in none of
 * them. */
unsigned share_serial_of(pid_t pid);

#endif
