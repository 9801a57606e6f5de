/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags of renameat2(2). The system has them; NFS, SMB, Lustre and sshfs may not, and
 * then the call fails with EINVAL.
 */
#include "rename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int rename_new(int from, const char *name, int to, const char *as)
{
	return renameat2(from, name, to, as, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

int rename_swap(int from, const char *name, int to, const char *as)
{
	return renameat2(from, name, to, as, RENAME_EXCHANGE) < 0 ? -errno : 0;
}
