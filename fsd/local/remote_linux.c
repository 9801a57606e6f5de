/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knows network filesystems by the type that statfs(2) gives. FUSE is one of them: sshfs
 * and the like are more frequent than local ones, and a local one is only scanned more
 * often.
 */
#include "remote.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "layout/layout.h"

static const uint32_t types[] = {
	0x6969,     /* NFS */
	0x517b,     /* SMB */
	0xff534d42, /* CIFS */
	0xfe534d42, /* SMB2 */
	0x01021997, /* 9p */
	0x65735546, /* FUSE */
	0x0bd00bd0, /* Lustre */
	0x47504653, /* GPFS */
	0x00c36400, /* CephFS */
	0x5346414f, /* AFS */
	0x6b414653, /* kAFS */
	0x73757245, /* Coda */
	0x7461636f, /* OCFS2: a disk that several hosts share */
	0x01161970, /* GFS2, too */
};

bool is_remote(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((uint32_t)fs.f_type == types[i])
			return true;
	return false;
}

void remote_refresh(int fd)
{
	struct statx now;

	/* an error shows again in the next call */
	(void)!statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS,
		     &now);
}
