/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases user ids for processes that must share theirs with no other process. A lease is
 * a lock on a file of the id's name, so all daemons of a host share one set of leases, and
 * the kernel ends a lease with its last descriptor. For root only.
 */
#ifndef VM_UIDS_H
#define VM_UIDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define UIDS_PARENT "/run/fsd"
#define UIDS_DIR UIDS_PARENT "/uids"
/* the default range */
#define UIDS_FIRST 1900000000u
#define UIDS_COUNT 65536u

struct uid_range {
	uint32_t first, count, next;
	int dir; /* directory of lock files; -1: user ids are not changed */
};

/* Checks that the ids exist in this user namespace, as users and as groups. If not, *u
 * becomes another range of the namespace. Return: whether *u is usable. */
bool uids_fit(struct uid_range *u);
/* Opens the directory of the locks. Return: 0 or negative errno, and u->dir is -1. */
int uids_open(struct uid_range *u);
/*
 * Leases an id. If user ids are not changed, *ret is 0 and *ret_lock stays as it is.
 * Return: 0, -EUSERS: all are in use, or another negative errno.
 */
int uids_lease(struct uid_range *u, uid_t *ret, int *ret_lock);

#endif
