/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statfs: the caller's free space, by quotas, else the disk's. All functions
 * run on the loop; statvfs(2) may wait for the disk.
 */
#include "ops_refusal.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "fsd/store/store.h"
#include "fsd/users/users.h"

#define UNIT 512u /* block size where a quota counts bytes */

static uint64_t left(uint64_t limit, uint64_t used)
{
	return limit - MIN(limit, used);
}

static void fill_bytes(struct statvfs *st, uint64_t limit, uint64_t used)
{
	uint64_t disk = st->f_bavail * (st->f_frsize ? st->f_frsize
						     : st->f_bsize);

	st->f_bsize = st->f_frsize = UNIT;
	st->f_blocks = limit / UNIT;
	st->f_bfree = st->f_bavail = MIN(left(limit, used), disk) / UNIT;
}

static void fill_jobs(struct statvfs *st, uint64_t limit, uint64_t used)
{
	st->f_files = limit;
	st->f_ffree = st->f_favail = left(limit, used);
}

void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fsd *d = ops_fsd(req);
	struct quota_limits may;
	struct quota_use has;
	struct statvfs st;

	(void)ino;
	if (fstatvfs(store_jobs_fd(d->store), &st) < 0) {
		ops_fail(req, FUSE_ROOT_ID, NULL, -errno);
		return;
	}
	quota_of(users_quota(d->users), fuse_req_ctx(req)->uid, &has, &may);
	if (may.bytes)
		fill_bytes(&st, may.bytes, has.bytes);
	if (may.jobs)
		fill_jobs(&st, may.jobs, has.jobs);
	st.f_namemax = LIMIT_FILE_NAME;
	fuse_reply_statfs(req, &st);
}
