/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by users.c and last_error.c only. */
#ifndef FSD_USERS_INT_H
#define FSD_USERS_INT_H

#include "users.h"

struct users {
	struct list list;    /* owned: of struct user */
	struct hash by_uid;  /* struct user, by uid */
	struct quota *quota; /* owned, or NULL */
	struct list errors;  /* owned: of struct last_error, newest first */
	uint64_t started_ns; /* CLOCK_REALTIME: when the mount was made */
	uint64_t health_ns;  /* CLOCK_REALTIME: when the operator changed a file that all
			      * see */
	struct times times;  /* when a job of any user, or a file of .fsd, changed */
	uint64_t open_most;  /* most descriptors for the open files of one user */
};

void last_errors_free(struct users *users);

#endif
