/* SPDX-License-Identifier: Apache-2.0 */
#include "readahead.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "mounts.h"

#define SECTOR 512u
/*
 * In pieces this long the interpreters' files lie together in the machine's
 * memory. A machine made from the template maps 64 KiB at once of what it
 * touches (the host's fault-around), so the less is strewn, the less it holds:
 * 2 to 3 MB a machine that is hot for Node, against the usual 128 KiB.
 */
#define WIDE (2u << 20)
#define USUAL (128u << 10) /* VM_READAHEAD_PAGES of Linux */

static int set(int disk, unsigned long bytes, struct err *err)
{
	if (ioctl(disk, BLKRASET, bytes / SECTOR))
		return err_sys(err, -errno, "cannot set the disk's readahead");
	return 0;
}

int readahead_widen(int *ret_disk, struct err *err)
{
	*ret_disk = open(ROOT_DEVICE, O_RDONLY | O_CLOEXEC);
	if (*ret_disk < 0)
		return err_sys(err, -errno, "cannot open %s", ROOT_DEVICE);
	return set(*ret_disk, WIDE, err);
}

int readahead_restore(int disk, struct err *err)
{
	return set(disk, USUAL, err);
}
