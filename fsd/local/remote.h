/* SPDX-License-Identifier: Apache-2.0 */
/* Whether another host may change a filesystem. */
#ifndef FSD_REMOTE_H
#define FSD_REMOTE_H

#include <stdbool.h>

/* Then neither events nor leases tell of all changes. True if it is not known. */
bool is_remote(int fd);
/* Asks the server of a network filesystem for the state that the directory fd has now.
 * Without that, a client of NFS lists what it has in its cache, for up to 60 s. */
void remote_refresh(int fd);

#endif
