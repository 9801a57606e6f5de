/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags of renameat2(2). The system has them; NFS, SMB, Lustre and sshfs may not, and
 * then the call fails with EINVAL.
 */
#include "rename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

int rename_new(int from, const char *name, int to, const char *as)
{
	return renameat2(from, name, to, as, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

int rename_swap(int from, const char *name, int to, const char *as)
{
	return renameat2(from, name, to, as, RENAME_EXCHANGE) < 0 ? -errno : 0;
}

/* A kernel before 5.8 knows no mount's number: both are 0. */
int rename_check(int from, int to)
{
	const unsigned mask = STATX_INO | STATX_MNT_ID;
	struct statx a, b;

	if (statx(from, "", AT_EMPTY_PATH, mask, &a) < 0 ||
	    statx(to, "", AT_EMPTY_PATH, mask, &b) < 0)
		return -errno;
	return a.stx_dev_major != b.stx_dev_major || a.stx_dev_minor != b.stx_dev_minor ||
	       a.stx_mnt_id != b.stx_mnt_id ? -EXDEV : 0;
}
