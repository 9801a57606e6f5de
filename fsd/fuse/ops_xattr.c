/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getxattr and listxattr: user.fsd.* of the mount and of jobs, read-only. All
 * functions run on the loop.
 */
#include "ops.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fsd/control/about.h"
#include "fsd/control/control.h"
#include "fsd/store/store.h"
#include "ops_refusal.h"
#include "ops_guest.h"

static const char *const upgrade_words[] = {
	[UPGRADE_NONE] = "none", [UPGRADE_DONE] = "done",
	[UPGRADE_FAILED] = "failed",
};

static int xattr_value(fuse_req_t req, const struct target *t, const char *name,
		       char room[64])
{
	const struct fsd *d = ops_fsd(req);

	if (t->kind == T_ROOT && !strcmp(name, "user.fsd.pid"))
		return snprintf(room, 64, "%d", (int)getpid());
	/* If the supervisor has ended, another process may have its number. */
	if (t->kind == T_ROOT && !strcmp(name, "user.fsd.service"))
		return getppid() == d->about->service ?
			       snprintf(room, 64, "%d", (int)d->about->service) :
			       -ENODATA;
	if (t->kind == T_ROOT && !strcmp(name, "user.fsd.upgrade"))
		return snprintf(room, 64, "%s", upgrade_words[d->about->upgrade]);
	if (t->kind == T_ROOT && !strcmp(name, "user.fsd.version"))
		return snprintf(room, 64, "%s", fsd_version);
	if (t->kind == T_JOB && !strcmp(name, "user.fsd.state"))
		return snprintf(room, 64, "%s", state_name(t->job->meta.state));
	if (t->kind == T_JOB && !strcmp(name, "user.fsd.id")) {
		char id[STORE_ID_SIZE];

		store_id(t->job->meta.no, id);
		return snprintf(room, 64, "%s", id);
	}
	/* ENODATA would mean that it can be set, and editors try that. */
	return strncmp(name, "system.posix_acl_", 17) ? -ENODATA : -EOPNOTSUPP;
}

static void reply_xattr(fuse_req_t req, const char *data, int len, size_t size)
{
	if (len < 0)
		ops_answer(req, len);
	else if (!size)
		fuse_reply_xattr(req, (size_t)len);
	else if (size < (size_t)len)
		ops_answer(req, -ERANGE);
	else
		fuse_reply_buf(req, data, (size_t)len);
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct target t;
	char room[64] = "";
	int r;

	if (guest_getxattr(req, ino, name, size))
		return;
	r = ops_target(req, ino, &t);
	if (r == 0)
		r = xattr_value(req, &t, name, room);
	reply_xattr(req, room, r, size);
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	static const char root[] = "user.fsd.pid\0user.fsd.service\0"
				   "user.fsd.version";
	static const char job[] = "user.fsd.state\0user.fsd.id";
	struct target t;
	int r;

	if (guest_listxattr(req, ino, size))
		return;
	r = ops_target(req, ino, &t);
	if (r < 0)
		reply_xattr(req, NULL, r, size);
	else if (t.kind == T_ROOT)
		reply_xattr(req, root, sizeof(root), size);
	else if (t.kind == T_JOB)
		reply_xattr(req, job, sizeof(job), size);
	else
		reply_xattr(req, "", 0, size);
}
