/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process has a file open for writing. */
#ifndef FSD_SPOOL_LEASE_H
#define FSD_SPOOL_LEASE_H

#include <stdbool.h>

/* The worse, the greater. */
enum writer {
	WRITER_NONE,    /* no process has the file open for writing */
	WRITER_UNKNOWN, /* the system cannot say */
	WRITER_OPEN,    /* a process has */
};

/* fd: a regular file that is open for reading only, on no network filesystem: a lease
 * says nothing of other hosts. A writer that opens the file in this moment waits some
 * microseconds; with O_NONBLOCK it gets EWOULDBLOCK. */
enum writer lease_ask(int fd);

#endif
