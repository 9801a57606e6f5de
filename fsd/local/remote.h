/* SPDX-License-Identifier: Apache-2.0 */
/* Whether another host may change a filesystem. */
#ifndef FSD_REMOTE_H
#define FSD_REMOTE_H

#include <stdbool.h>

/* True if the directory is on a network file system, or if that is unknown: then neither
 * events nor leases report all changes. */
bool is_remote(int fd);
/*
 * Asks the server of a network filesystem for the state that a file or directory has now.
 * Without that, fstat(2) and the list of a directory come from a cache: for a second with
 * sshfs, up to a minute with NFS. A copy made from the cache ends where the
 * file ended when its state was cached.
 */
void remote_refresh(int fd);

#endif
