/* SPDX-License-Identifier: Apache-2.0 */
/* Takes machines that sessions and sandboxes keep while they are idle: the
 * scheduler's take_back(), see sched.h. */
#ifndef FSD_TAKE_BACK_H
#define FSD_TAKE_BACK_H

#include "fsd/fsd.h"

/* Machines of sessions and sandboxes that something uses just now. */
unsigned kept_in_use(struct fsd *d);
bool take_back(void *arg, uid_t uid, uint64_t idle_ns, bool only_sessions);

#endif
