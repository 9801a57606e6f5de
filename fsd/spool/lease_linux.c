/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds writers by a read lease (fcntl(2), F_SETLEASE), which the kernel refuses with EAGAIN
 * while a process has the file open for writing or mapped so. It refuses with EACCES for
 * a file of another owner.
 *
 * A writer that opens the file while the lease is there makes the kernel send a signal to
 * this process. By default that is SIGIO, which would end it: hence SIGURG, which does not.
 */
#include "lease.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

enum writer lease_ask(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGURG) < 0)
		return WRITER_UNKNOWN;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN ? WRITER_OPEN : WRITER_UNKNOWN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return WRITER_NONE;
}
