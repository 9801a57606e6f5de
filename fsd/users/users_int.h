/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by users.c and last_error.c only. */
#ifndef FSD_USERS_INT_H
#define FSD_USERS_INT_H

#include "users.h"

struct users {
	struct list list;    /* owned: of struct user */
	struct hash by_uid;  /* the same */
	struct quota *quota; /* owned, or NULL */
	struct list errors;  /* owned: of struct last_error, newest first */
	uint64_t started_ns; /* CLOCK_REALTIME: the mount was made, */
	uint64_t health_ns;  /* the operator changed what all see, */
	struct times times;  /* anybody's job or anything of .fsd changed */
	uint64_t open_most;  /* descriptors for what one user has open */
};

void last_errors_free(struct users *users);

#endif
