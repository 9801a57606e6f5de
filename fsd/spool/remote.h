/* SPDX-License-Identifier: Apache-2.0 */
/* Whether another host may change a filesystem. */
#ifndef FSD_SPOOL_REMOTE_H
#define FSD_SPOOL_REMOTE_H

#include <stdbool.h>

/* Then neither events nor leases tell of all changes. True if it is not known. */
bool is_remote(int fd);

#endif
